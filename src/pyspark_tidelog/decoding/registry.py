"""Schemas by id, asked for once a worker process.

A `Registry` is what travels to the workers: an address and settings. The client behind it (confluent-kafka's) holds
sockets and locks, so each process makes its own, and keeps it and the answers for the next batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.decoding.errors import BadValue, RegistryError, not_installed

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

SCHEMAS_MAX: Final = 4096  # kept by each process; random bytes that look framed may ask for any id
TIMEOUT_S: Final = 30
MISSING_S: Final = 10
NOT_FOUND: Final = 404


class Registry:
    """The address of a schema registry. `settings`: those of confluent-kafka's SchemaRegistryClient, such as
    basic.auth.user.info."""

    def __init__(self, url: str, settings: Mapping[str, str | int | float | bool] | None = None) -> None:
        self.url = url
        self._key = _Key(url, tuple(sorted((settings or {}).items())))

    def schema(self, schema_id: int, kind: str, form: str | None = None) -> "Schema":
        """Return the schema with this id, which must be of `kind` (AVRO or PROTOBUF), in the registry's own format or
        in `form`. BadValue where there is none of this id and kind, RegistryError where the registry does not
        answer."""
        found = _found(self._key, schema_id, form)
        if found is None:
            raise BadValue(f"the registry at {self.url} has no schema {schema_id}")
        if (found.schema_type or "AVRO") != kind:
            raise BadValue(f"schema {schema_id} of the registry at {self.url} is {found.schema_type}, not {kind}")
        return found

    def referenced(self, schema: "Schema", form: str | None = None) -> dict[str, "Schema"]:
        """Return by name the schemas that `schema` refers to, directly or through another; a schema comes after those
        that it refers to."""
        found: dict[str, Schema] = {}
        for reference in schema.references or ():
            name, subject, version = reference.name, reference.subject, reference.version
            if name is None or subject is None or version is None or name in found:
                continue
            other = _version(self._key, subject, version, form)
            found = found | self.referenced(other, form) | {name: other}
        return found


@dataclass(frozen=True, slots=True)
class _Key:
    url: str
    settings: tuple[tuple[str, str | int | float | bool], ...]


@lru_cache(maxsize=16)
def _client(key: _Key) -> "SchemaRegistryClient":
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient
    except ImportError:
        raise not_installed("confluent-kafka with its client of schema registries") from None
    try:
        return SchemaRegistryClient({"url": key.url, "timeout": TIMEOUT_S, **dict(key.settings)})
    except (TypeError, ValueError) as error:
        raise RegistryError(f"the settings of the registry are wrong: {error}", key.url) from None


# Ids that the registry did not have, and the time until which it is not asked again: a topic may hold thousands of
# values that are not framed. Not for long, because a new schema takes a moment to reach every node of a registry.
_missing: dict[tuple[_Key, int, str | None], float] = {}


def _found(key: _Key, schema_id: int, form: str | None) -> "Schema | None":
    wanted = key, schema_id, form
    if _missing.get(wanted, 0.0) > monotonic():
        return None
    try:
        return _schema(key, schema_id, form)
    except LookupError:
        if len(_missing) >= SCHEMAS_MAX:
            _missing.clear()
        _missing[wanted] = monotonic() + MISSING_S
        return None


@lru_cache(maxsize=SCHEMAS_MAX)
def _schema(key: _Key, schema_id: int, form: str | None) -> "Schema":
    """Ask the registry for a schema; LookupError where it has none of this id."""
    client = _client(key)
    try:
        return client.get_schema(schema_id, fmt=form)
    except Exception as error:  # noqa: BLE001 - whatever its HTTP library raises; that library changes
        if getattr(error, "http_status_code", None) == NOT_FOUND:
            raise LookupError(schema_id) from None
        raise _failed(key, f"schema {schema_id}", error) from None


@lru_cache(maxsize=SCHEMAS_MAX)
def _version(key: _Key, subject: str, version: int, form: str | None) -> "Schema":
    client = _client(key)
    try:
        found = client.get_version(subject, version, fmt=form).schema
    except Exception as error:  # noqa: BLE001 - as above
        raise _failed(key, f"version {version} of {subject}", error) from None
    if found is None:
        raise RegistryError(f"version {version} of {subject} has no schema", key.url)
    return found


def _failed(key: _Key, what: str, error: Exception) -> RegistryError:
    step = "see that the registry runs, and that the workers can reach it"
    return RegistryError(f"ask for {what}: {error or type(error).__name__}", f"registry at {key.url}", step)
