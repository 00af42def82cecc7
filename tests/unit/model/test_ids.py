import pytest

from tidelog.model.ids import METADATA_TOPIC_ID, ZERO_UUID, TopicPartition, Uuid, format_uuid, parse_uuid


def test_uuid_text_is_unpadded_url_safe_base64() -> None:
    assert format_uuid(ZERO_UUID) == "A" * 22
    assert format_uuid(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert format_uuid(Uuid(b"\xff" * 16)) == "_____________________w"


@pytest.mark.parametrize("raw", [bytes(16), bytes(range(16)), b"\xfb\xff" * 8])
def test_uuid_round_trip(raw: bytes) -> None:
    assert parse_uuid(format_uuid(Uuid(raw))) == raw


@pytest.mark.parametrize("text", ["", "AAAA", "A" * 23, "A" * 21 + "!", "+" * 22, "ä" * 22])
def test_what_is_not_a_uuid_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kafka UUID"):
        parse_uuid(text)


def test_a_topic_partition_reads_like_its_directory() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"
