"""Chance: ids, secrets and jitter. One source, so that a seed can stand behind every choice a node makes."""

from typing import Protocol

from tidelog.model.ids import METADATA_TOPIC_ID, ZERO_UUID, Uuid, format_uuid


class Entropy(Protocol):
    def random_bytes(self, size: int) -> bytes:
        """Return unpredictable bytes, good enough for salts, nonces and tokens."""
        ...

    def random_below(self, bound: int) -> int:
        """Return 0 <= result < bound, each equally likely: for election timeouts, backoff, spreading of load. bound >
        0."""
        ...


def random_uuid(entropy: Entropy) -> Uuid:
    """Return a new topic, directory, member or incarnation id.

    The two reserved ids are never given out, and neither is one whose text begins with a dash: pasted behind a command
    it would be taken for an option.
    """
    while True:
        raw = bytearray(entropy.random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40  # version 4, variant 1: Kafka's ids are RFC 4122 ones
        raw[8] = raw[8] & 0x3F | 0x80
        uuid = Uuid(bytes(raw))
        if uuid not in (ZERO_UUID, METADATA_TOPIC_ID) and not format_uuid(uuid).startswith("-"):
            return uuid
