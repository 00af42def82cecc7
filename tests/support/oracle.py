"""One comparison for every foreign codec: it has to read what we write, field for field, and write the same bytes
again."""

from typing import Any, Protocol

from tests.support.declared_messages import versions_of
from tests.support.message_builder import Choices, MessageBuilder, any_value, seed_of
from tests.support.message_values import carried_values

from tidelog.protocol.codec import decode_exact, encode

INSTANCES = 6


class Oracle(Protocol):
    def knows(self, cls: type[Any], version: int) -> bool: ...

    def read(self, cls: type[Any], version: int, data: bytes) -> Any: ...

    def values(self, cls: type[Any], version: int, theirs: Any) -> dict[str, Any]:
        """Return the fields in the form of `carried_values`."""

    def write(self, cls: type[Any], version: int, theirs: Any) -> bytes: ...


def known_versions(oracle: Oracle, cls: type[Any]) -> list[int]:
    return [version for version in versions_of(cls) if oracle.knows(cls, version)]


def assert_agreement(oracle: Oracle, cls: type[Any], version: int, choices: Choices = any_value) -> None:
    """Check that both codecs agree on random messages. `choices` restricts them to what the foreign codec can hold,
    where that is less than the protocol allows."""
    for instance in range(INSTANCES):
        message = MessageBuilder(version, seed_of(cls.__name__, version, instance), choices).build(cls)
        data = encode(message, version)
        theirs = oracle.read(cls, version, data)
        assert oracle.values(cls, version, theirs) == carried_values(message, version)
        their_data = oracle.write(cls, version, theirs)
        assert their_data == data
        assert decode_exact(cls, their_data, version) == message


def agrees(oracle: Oracle, cls: type[Any], choices: Choices = any_value) -> bool:
    """Tell whether the foreign codec agrees at every version; any exception that it raises is a disagreement."""
    try:
        for version in known_versions(oracle, cls):
            assert_agreement(oracle, cls, version, choices)
    except Exception:  # noqa: BLE001
        return False
    return True
