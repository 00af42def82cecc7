"""Answers as plain values that do not depend on which broker gave them: whatever two brokers may say differently has a
name here.

A random id is replaced by a name once the scenario has named it. Of an error message only its presence counts, since
each broker has its own words. Lists without an order are sorted.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.codec import decode_exact
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment

Plain: TypeAlias = Any  # dicts by field, lists, numbers, strings

HIDDEN: Final = {"throttle_time_ms", "node_id", "port"}
WORDS: Final = {"error_message"}
UNORDERED: Final = {
    ("JoinGroupResponse", "members"),
    ("DescribedGroup", "members"),
    ("ListGroupsResponse", "groups"),
    ("OffsetCommitResponseTopic", "partitions"),  # Apache names refused ones first
    ("OffsetDeleteResponse", "topics"),
    ("OffsetDeleteResponseTopic", "partitions"),
    ("ConsumerGroupDescribeResponse", "groups"),
    ("OffsetFetchResponse", "topics"),  # when all topics were asked for, they come in any order
    ("OffsetFetchResponse", "groups"),
    ("OffsetFetchResponseGroup", "topics"),
    ("OffsetFetchResponseTopics", "partitions"),
    ("OffsetFetchResponseTopic", "partitions"),
    ("Member", "subscribed_topic_names"),
    ("Assignment", "topic_partitions"),
    ("TopicPartitions", "partitions"),
    ("DeleteGroupsResponse", "results"),
    ("FindCoordinatorResponse", "coordinators"),
}
VERSION_1: Final = b"\x00\x01"
# A random UUID as Java prints it, or as Kafka does.
RANDOM: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|^[0-9A-Za-z_-]{22}$")


def plain(value: Any, names: Mapping[Any, str]) -> Plain:
    """Return the value as plain values. `names` has the names of random strings and topic ids."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return _text(value, names)
        case bytes() | bytearray() | memoryview():
            return _bytes(bytes(value), names)
        case list():
            return [plain(each, names) for each in value]
    return {each.name: _field(value, each.name, names) for each in fields(value) if each.name not in HIDDEN}


def _field(message: Any, name: str, names: Mapping[Any, str]) -> Plain:
    value = getattr(message, name)
    if name == "error_code":
        return ErrorCode(value).name
    if name in WORDS:
        return value if value is None else "words"
    if name in ("assignment", "member_assignment") and isinstance(value, bytes):
        return _assignment(value)
    found = plain(value, names)
    return sorted(found, key=repr) if (type(message).__name__, name) in UNORDERED and found else found


def _assignment(value: bytes) -> Plain:
    """Return a Java consumer's assignment with its topics sorted; anything else as its repr."""
    try:
        assigned = decode_exact(ConsumerProtocolAssignment, value, 1, len(VERSION_1))
    except (ProtocolError, ValueError):
        return repr(value)
    topics = {each.topic: each.partitions for each in assigned.assigned_partitions}
    return [repr(value[: len(VERSION_1)]), dict(sorted(topics.items())), repr(assigned.user_data)]


def _text(value: str, names: Mapping[Any, str]) -> str:
    for random, name in names.items():
        if isinstance(random, str):
            value = value.replace(random, f"<{name}>")
    return RANDOM.sub("<random>", value)


def _bytes(value: bytes, names: Mapping[Any, str]) -> str:
    if value == ZERO_UUID:
        return "<no id>"
    return f"<id of {names[value]}>" if value in names else repr(value)
