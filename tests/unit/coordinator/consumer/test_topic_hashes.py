"""The hash of a group's topics: the golden values are those of Kafka 4.3.1 with its own hash library."""

import pytest
from tests.unit.coordinator.consumer.bench import Bench

from tidelog.coordinator.group.consumer.topic_hashes import TopicHashes, topic_hash, xxh3_64
from tidelog.metadata.records.topics import PartitionRecord, TopicRecord
from tidelog.model.ids import Uuid

GOLDEN = {
    0: 3244421341483603138,
    1: -2220562881957146901,
    3: 6666321793830475030,
    4: 2616370236846142754,
    8: -7580517331561883735,
    9: 5152637198995674261,
    16: -7981552096505747545,
    17: 3167990320673986461,
    33: -5651289385633655381,
    65: 2046066673040820750,
    97: 8427315719855081401,
    128: -4307239528691637617,
    129: -8920706652127818958,
    240: 4326755725039977377,
    241: -4614182663436096113,
    1024: 3727354545940993313,
    1025: -6375248425993715941,
    5000: 3961585312519169458,
}


@pytest.mark.parametrize("size", GOLDEN)
def test_xxh3_of_every_kind_of_length(size: int) -> None:
    data = bytes((i * 7 + i // 256 * 13 + 1) & 255 for i in range(size))
    assert xxh3_64(data) == GOLDEN[size]


def test_text_is_hashed_as_java_has_it_units_and_then_their_number() -> None:
    text = "topicé\U00010348"
    encoded = text.encode("utf-16-le")
    assert xxh3_64(encoded + (len(encoded) // 2).to_bytes(4, "little")) == -1347391056722126051


def racked() -> Bench:
    bench = Bench()
    topic_id = Uuid(bytes.fromhex("0102030405060708fffffffffffffffe"))
    for broker in range(3):
        bench.broker(broker, f"rack{broker}")
    partitions = [
        PartitionRecord(
            partition_id=each,
            topic_id=topic_id,
            replicas=[each],
            isr=[each],
            removing_replicas=[],
            adding_replicas=[],
            leader=each,
            leader_epoch=0,
            partition_epoch=0,
        )
        for each in range(3)
    ]
    bench._metadata(TopicRecord(name="foo", topic_id=topic_id), *partitions)
    return bench


def test_a_topic_with_racks() -> None:
    image = racked().shard.image
    assert topic_hash(image.topics.by_name["foo"], image.brokers) == 573038694974251717


def test_a_group_of_topics_by_their_names() -> None:
    image = racked().shard.image
    hashes = TopicHashes()
    assert hashes.group_hash(image, ["foo", "unknown"]) == -4781256344366088451
    assert hashes.group_hash(image, ["unknown"]) == 0
    assert hashes.group_hash(image, []) == 0


def test_names_are_sorted() -> None:
    bench = racked()
    bench.topic("bar", 1)
    hashes = TopicHashes(by_name={"bar": -5})
    assert hashes.group_hash(bench.shard.image, ["foo", "bar"]) == 8679776063642535145


def test_what_changed_is_hashed_anew() -> None:
    bench = Bench()
    bench.topic("t", 1)
    before = bench.shard.topic_hashes.group_hash(bench.shard.image, ["t"])
    bench.grow("t", 2)
    assert bench.shard.topic_hashes.group_hash(bench.shard.image, ["t"]) != before


@pytest.mark.parametrize("names", [{"a": None}, {"a": None, "x": None, "y": None, "z": None}])
def test_hashes_of_changed_topics_are_forgotten_and_the_others_kept(names: dict[str, None]) -> None:
    """This holds whether there are more names or more hashes."""
    hashes = TopicHashes({"a": 1, "b": 2, "c": 3})
    hashes.forget(names)
    assert hashes.by_name == {"b": 2, "c": 3}
