"""Partitions by key as every Java producer computes them, and sticky ones without a key."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.metadata import PartitionMetadata, TopicMetadata
from tidelog.client.producer.kernels_murmur2 import murmur2, partition_of_key
from tidelog.client.producer.partitioner import Partitioner
from tidelog.model.ids import ZERO_UUID
from tidelog.sim.entropy import SimEntropy

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka.partitioner.default import murmur2 as kafka_pythons_murmur2

# Hashes by Apache's own Utils.murmur2 (4.3), and the partition of seven that its partitioner chooses.
FROM_JAVA = [
    (b"", 275646681, 2),
    (b"21", -973932308, 3),
    (b"foobar", -790332482, 0),
    (b"a-little-bit-long-string", -985981536, 1),
    (b"abc", 479470107, 4),
    (b"\xff\xfe\x80", -160726397, 3),
    ("köln".encode(), -663642723, 0),
]


@pytest.mark.parametrize(("key", "hashed", "partition"), FROM_JAVA)
def test_as_java(key: bytes, hashed: int, partition: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF
    assert partition_of_key(key, 7) == partition


@settings(derandomize=True, max_examples=200)
@given(st.binary(max_size=40))
def test_as_kafka_python(key: bytes) -> None:
    assert murmur2(key) == kafka_pythons_murmur2(key) & 0xFFFFFFFF


def topic(*leaders: int) -> TopicMetadata:
    partitions = [PartitionMetadata(index, leader, 0, [], [], []) for index, leader in enumerate(leaders)]
    return TopicMetadata("t", ZERO_UUID, False, partitions)


def test_records_without_a_key_stick_until_a_batch_is_there_and_reach_all_partitions() -> None:
    partitioner = Partitioner(SimEntropy(1), batch_bytes=1_000)
    chosen = [partitioner.choose(topic(1, 1, 1), None, 100) for _ in range(400)]
    runs = [chosen[at : at + 10] for at in range(0, 400, 10)]
    assert all(len(set(run)) == 1 for run in runs)
    assert set(chosen) == {0, 1, 2}


def test_a_partition_without_a_leader_is_left_at_once_unless_no_other_has_one() -> None:
    partitioner = Partitioner(SimEntropy(1), batch_bytes=1_000)
    first = partitioner.choose(topic(1, 1), None, 10)
    led = topic(*[-1 if index == first else 1 for index in range(2)])
    assert {partitioner.choose(led, None, 100) for _ in range(30)} == {1 - first}
    assert partitioner.choose(topic(-1, -1), None, 10) in (0, 1)
    assert partitioner.choose(led, b"key", 10) == partition_of_key(b"key", 2)
