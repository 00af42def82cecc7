"""Avro values: each is read with the schema that it was written with, found by the id in its frame, and converted to
the reader's schema.

So a topic may hold values of many versions, and the column still has one type. fastavro resolves the two schemas; each
schema is parsed once a process.
"""

import io
import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from pyspark_tidelog.decoding.avro_types import arrow_type, without_strange_logical_types
from pyspark_tidelog.decoding.errors import BadValue, RegistryError, not_installed
from pyspark_tidelog.decoding.framing import unframe
from pyspark_tidelog.decoding.registry import Registry
from pyspark_tidelog.errors import OptionError


class AvroDecoder:
    """A decoder of Avro values to one reader's schema, with the writers' schemas of one registry. Only the reader's
    schema and the registry's address are pickled for the workers."""

    def __init__(self, schema: str, registry: Registry) -> None:
        self._schema = schema
        self._registry = registry
        self._readers: dict[int, Callable[[io.BytesIO], Any]] = {}

    def __reduce__(self) -> tuple[type["AvroDecoder"], tuple[str, Registry]]:
        return AvroDecoder, (self._schema, self._registry)

    @property
    def arrow_type(self) -> Any:
        return arrow_type(_as_json(self._schema))

    def decode(self, value: bytes) -> Any:
        schema_id, data = unframe(value)
        read = self._readers.get(schema_id)
        if read is None:
            read = self._readers[schema_id] = self._reader(schema_id)
        stream = io.BytesIO(data)
        try:
            found = read(stream)
        except Exception as error:  # noqa: BLE001 - random bytes make fastavro raise nearly anything
            said = str(error) or ("the value ends too soon" if isinstance(error, EOFError) else type(error).__name__)
            raise BadValue(f"not what schema {schema_id} says: {said}") from None
        if stream.tell() != len(data):
            raise BadValue(f"{len(data) - stream.tell()} byte(s) are left over after what schema {schema_id} says")
        return found

    def _reader(self, schema_id: int) -> Callable[[io.BytesIO], Any]:
        from fastavro import schemaless_reader

        writer, wanted = self._writer(schema_id), reader_schema(self._schema)
        # fastavro would compare the two for every value, to find that nothing has to be resolved.
        return partial(schemaless_reader, writer_schema=writer, reader_schema=None if writer == wanted else wanted)

    def _writer(self, schema_id: int) -> Any:
        schema = self._registry.schema(schema_id, "AVRO")
        named: dict[str, Any] = {}
        for other in self._registry.referenced(schema).values():
            _parsed(other.schema_str or "", named, self._registry.url)
        return _parsed(schema.schema_str or "", named, self._registry.url)


@lru_cache(maxsize=64)
def reader_schema(text: str) -> Any:
    """Return the schema parsed for fastavro; OptionError where the text is not an Avro schema."""
    try:
        from fastavro import parse_schema
        from fastavro.schema import SchemaParseException, UnknownType
    except ImportError:
        raise not_installed("fastavro") from None
    try:
        return parse_schema(without_strange_logical_types(_as_json(text)))
    except (SchemaParseException, UnknownType) as error:
        raise OptionError("schema", f"not an Avro schema: {error}") from None


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError("schema", f"not JSON: {error}", "give an Avro schema as its JSON text") from None


def _parsed(text: str, named: dict[str, Any], url: str) -> Any:
    from fastavro import parse_schema
    from fastavro.schema import SchemaParseException, UnknownType

    try:
        return parse_schema(without_strange_logical_types(json.loads(text)), named_schemas=named)
    except (ValueError, SchemaParseException, UnknownType) as error:
        raise RegistryError(f"a schema is not Avro: {error}", f"registry at {url}") from None
