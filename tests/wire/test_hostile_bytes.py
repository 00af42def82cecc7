"""Every message at every version, and bytes that are not quite it: cut short, damaged, or made up.

The answer is a message or MalformedMessage: never another exception, and never more memory than the input could be
worth. Kafka's own bytes are the starting point, so every kind of field is hit.
"""

import tracemalloc
from random import Random
from typing import Any

import pytest
from tests.support.declared_messages import declared_messages, versions_of
from tests.support.golden import golden_lines
from tests.support.message_builder import seed_of, smallest

from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import schema_of

ALL = declared_messages()
NAMES = sorted(ALL)
MUTATIONS = 12
RANDOM_INPUTS = 6
# Lengths and counts far beyond the input, in both encodings, and negative ones.
HOSTILE = [
    bytes.fromhex(text) for text in ("7fffffff", "7fff", "ffffffff07", "ffffffff0f", "80000000", "fffffffe", "8000")
]
# The costliest input is a list of structs that are empty lists themselves: a byte each, and 56 for the list.
MEMORY_PER_BYTE = 100
MEMORY_OVERHEAD = 50_000


def full_lines(name: str) -> list[tuple[int, bytes]]:
    return [(line["version"], bytes.fromhex(line["hex"])) for line in golden_lines()[name] if line["shape"] == "full"]


@pytest.mark.parametrize("name", NAMES)
def test_no_part_of_a_message_is_a_message(name: str) -> None:
    for version, data in full_lines(name):
        for end in range(len(data)):
            with pytest.raises(MalformedMessage):
                decode_exact(ALL[name], data[:end], version)
            with pytest.raises(MalformedMessage):
                decode_exact(ALL[name], memoryview(data)[:end], version)


@pytest.mark.parametrize("name", NAMES)
def test_no_message_reaches_into_the_next_one(name: str) -> None:
    """A receive buffer has bytes behind a truncated message, but they are not its own."""
    for version, data in full_lines(name):
        buffer = b"before" + data + data
        for end in range(6, 6 + len(data)):
            with pytest.raises(MalformedMessage):
                decode_exact(ALL[name], buffer, version, 6, end)
        assert encode(decode_exact(ALL[name], buffer, version, 6, 6 + len(data)), version) == data


@pytest.mark.parametrize("name", NAMES)
def test_a_message_with_more_behind_it_is_refused(name: str) -> None:
    for version, data in full_lines(name):
        with pytest.raises(MalformedMessage):
            decode_exact(ALL[name], data + b"\0", version)


@pytest.mark.parametrize("name", NAMES)
def test_damage_gives_a_message_or_malformed_message(name: str) -> None:
    for version, data in full_lines(name):
        random = Random(seed_of(name, version))
        for _ in range(MUTATIONS):
            read_or_refuse(ALL[name], mutated(random, data), version)


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_give_a_message_or_malformed_message(name: str) -> None:
    for version in versions_of(ALL[name]):
        random = Random(seed_of(name, version, "noise"))
        for _ in range(RANDOM_INPUTS):
            read_or_refuse(ALL[name], random.randbytes(random.randrange(120)), version)


def read_or_refuse(cls: type[Any], data: bytes, version: int) -> None:
    try:
        message = decode_exact(cls, data, version)
    except MalformedMessage:
        with pytest.raises(MalformedMessage):
            decode_exact(cls, memoryview(data), version)
        return
    # What was read can be written, and means the same when it is read again. (Compared as bytes: NaN is not NaN.)
    written = encode(message, version)
    assert encode(decode_exact(cls, written, version), version) == written


def mutated(random: Random, data: bytes) -> bytes:
    position = random.randrange(len(data) + 1)
    match random.randrange(4):
        case 0:
            return data[:position] + random.choice(HOSTILE) + data[position + random.choice([0, 1, 4]) :]
        case 1:
            return data[:position] + random.randbytes(1) + data[position + 1 :]
        case 2:
            return data[:position] + data[position + random.randrange(1, 5) :]
        case _:
            return data[:position] + data[max(0, position - 8) :]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_lengths_cost_no_memory(name: str) -> None:
    cls = ALL[name]
    version, data = full_lines(name)[-1]
    decode_exact(cls, data, version)  # compiles the codec, which takes memory of its own
    random = Random(seed_of(name, "memory"))
    inputs = [data[:at] + random.choice(HOSTILE) + data[at:] for at in range(0, len(data), 1 + len(data) // 60)]
    for hostile in inputs:
        assert memory_to_read(cls, hostile, version) < MEMORY_OVERHEAD + MEMORY_PER_BYTE * len(hostile)


@pytest.mark.parametrize("name", NAMES)
def test_the_costliest_lists_cost_a_small_multiple_of_their_bytes(name: str) -> None:
    cls, version = ALL[name], versions_of(ALL[name])[-1]
    for field in schema_of(cls).fields:
        if field.is_array and field.struct is not None and version in field.versions:
            message = smallest(cls)
            setattr(message, field.name, [smallest(field.struct)] * 500)
            data = encode(message, version)
            decode_exact(cls, data, version)
            assert memory_to_read(cls, data, version) < MEMORY_OVERHEAD + MEMORY_PER_BYTE * len(data)


def memory_to_read(cls: type[Any], data: bytes, version: int) -> int:
    """Return the peak memory of decoding the data, in bytes."""
    tracemalloc.start()
    try:
        decode_exact(cls, data, version)
    except MalformedMessage:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak
