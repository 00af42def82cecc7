"""Protobuf values, read with the message that the caller describes.

A Protobuf reader needs no schema of the writer: fields are known by their numbers. The registry is asked which message
of its file a value is, because bytes of one message can often be read as another without an error, and would be wrong
in silence.
"""

import base64
from functools import lru_cache
from typing import Any

from pyspark_tidelog.decoding.errors import BadValue, RegistryError, not_installed
from pyspark_tidelog.decoding.framing import unframe_message
from pyspark_tidelog.decoding.protobuf_types import arrow_type, reader
from pyspark_tidelog.decoding.registry import Registry
from pyspark_tidelog.errors import OptionError

SERIALIZED = "serialized"  # the form in which a registry gives a file's descriptor instead of its text


class ProtobufDecoder:
    """A decoder of values that are one message of a descriptor set (`protoc --include_imports --descriptor_set_out`).
    The registry confirms that a value is this message; without one (None) every value is taken for it."""

    def __init__(self, message: str, descriptor_set: bytes, registry: Registry | None) -> None:
        self._message = message
        self._descriptor_set = descriptor_set
        self._registry = registry
        self._names: dict[tuple[int, tuple[int, ...]], str] = {}

    def __reduce__(self) -> tuple[type["ProtobufDecoder"], tuple[str, bytes, Registry | None]]:
        return ProtobufDecoder, (self._message, self._descriptor_set, self._registry)

    @property
    def arrow_type(self) -> Any:
        return arrow_type(_descriptor(self._message, self._descriptor_set))

    def decode(self, value: bytes) -> Any:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

        schema_id, path, data = unframe_message(value)
        if self._registry is not None:
            self._check(self._registry, schema_id, path)
        new, read = _reading(self._message, self._descriptor_set)
        try:
            return read(new.FromString(data))
        except (DecodeError, ValueError, OverflowError) as error:
            raise BadValue(f"not a {self._message}: {error}") from None

    def _check(self, registry: Registry, schema_id: int, path: tuple[int, ...]) -> None:
        name = self._names.get((schema_id, path))
        if name is None:
            schema = registry.schema(schema_id, "PROTOBUF", SERIALIZED)
            name = self._names[schema_id, path] = _message_at(schema.schema_str or "", schema_id, path, registry.url)
        if name != self._message:
            raise BadValue(f"it is a {name}, not a {self._message} (schema {schema_id})")


@lru_cache(maxsize=16)
def _descriptor(message: str, descriptor_set: bytes) -> Any:
    try:
        from google.protobuf.descriptor_pb2 import FileDescriptorSet  # type: ignore[import-untyped]
        from google.protobuf.descriptor_pool import DescriptorPool  # type: ignore[import-untyped]
        from google.protobuf.message import DecodeError
    except ImportError:
        raise not_installed("protobuf") from None
    step = "make it with `protoc --include_imports --descriptor_set_out`"
    try:
        files = FileDescriptorSet.FromString(descriptor_set).file
    except DecodeError:
        raise OptionError("descriptor_set", "not a set of file descriptors", step) from None
    pool = DescriptorPool()
    try:
        for file in files:
            pool.Add(file)
        return pool.FindMessageTypeByName(message)
    except (KeyError, TypeError) as error:
        raise OptionError("descriptor_set", f"there is no message {message} in it: {error}", step) from None


@lru_cache(maxsize=16)
def _reading(message: str, descriptor_set: bytes) -> tuple[Any, Any]:
    from google.protobuf.message_factory import GetMessageClass  # type: ignore[import-untyped]

    descriptor = _descriptor(message, descriptor_set)
    return GetMessageClass(descriptor), reader(descriptor)


def _message_at(serialized: str, schema_id: int, path: tuple[int, ...], url: str) -> str:
    """The full name of the message that a path leads to."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        file = FileDescriptorProto.FromString(base64.b64decode(serialized, validate=True))
    except (ValueError, DecodeError):
        said = f"schema {schema_id} did not come as a serialized descriptor"
        raise RegistryError(said, f"registry at {url}", "read without a registry, or use one that can") from None
    names = [file.package] if file.package else []
    level = file.message_type
    for step in path:
        if step >= len(level):
            raise BadValue(f"schema {schema_id} has no message at {'.'.join(map(str, path))}")
        names.append(level[step].name)
        level = level[step].nested_type
    return ".".join(names)
