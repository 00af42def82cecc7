"""Valid and invalid names of topics."""

import pytest

from tidelog.controller.topic_names import check_topic_name, collision_key
from tidelog.model.errors import ApiError, ErrorCode


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "a" * 249, "...", "__consumer_offsets", "-"])
def test_legal(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "a/b", "ä", "a\n", "a:b", "٣", "a\0", "x" * 5000])
def test_illegal(name: str) -> None:
    with pytest.raises(ApiError) as raised:
        check_topic_name(name)
    assert raised.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert len(str(raised.value)) < 500


def test_collisions() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") == collision_key("a.b.c")
    assert collision_key("a.b") != collision_key("a.c")
    assert collision_key("plain-name") is None
