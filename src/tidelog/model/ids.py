"""The ids that travel through every layer. Each is a number to the machine and a type of its own to the checker."""

import base64
from typing import NamedTuple, NewType

NodeId = NewType("NodeId", int)
ProducerId = NewType("ProducerId", int)

# A Kafka UUID is 16 raw bytes everywhere inside (hashable, no object to build while decoding) and unpadded URL-safe
# base64 wherever a person sees it.
Uuid = NewType("Uuid", bytes)

ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")

NO_PRODUCER_ID = ProducerId(-1)
NO_NODE_ID = NodeId(-1)


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TopicIdPartition(NamedTuple):
    topic_id: Uuid
    partition: int

    def __str__(self) -> str:
        return f"{format_uuid(self.topic_id)}-{self.partition}"


def format_uuid(uuid: Uuid) -> str:
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode("ascii")


# `+` and `/` map to something invalid: in URL-safe base64 they are mistakes, and b64decode would let them pass.
_TO_STANDARD_BASE64 = str.maketrans("-_+/", "+/  ")


def parse_uuid(text: str) -> Uuid:
    """Return the id that `format_uuid` formatted; raises ValueError, which names the text, when it is not one."""
    standard = text.translate(_TO_STANDARD_BASE64)
    try:
        raw = base64.b64decode(standard + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 16:
        raise ValueError(f"not a Kafka UUID (22 characters of URL-safe base64): {text!r}")
    return Uuid(raw)
