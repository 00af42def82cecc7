import pytest

from tidelog.protocol.response_order import ResponseOrder


def test_one_at_a_time() -> None:
    order = ResponseOrder()
    for index in range(3):
        sequence = order.open()
        assert len(order) == 1
        assert order.complete(sequence, [b"head%d" % index, b"tail"]) == [b"head%d" % index, b"tail"]
        assert len(order) == 0


def test_an_early_response_is_held_until_its_turn() -> None:
    order = ResponseOrder()
    first, second, third, fourth = (order.open() for _ in range(4))
    assert order.complete(third, [b"3"]) == []
    assert order.complete(second, [b"2a", b"2b"]) == []
    assert order.complete(first, [b"1"]) == [b"1", b"2a", b"2b", b"3"]
    assert len(order) == 1
    assert order.complete(fourth, [b"4"]) == [b"4"]


def test_a_request_without_a_response_does_not_hold_back_the_others() -> None:
    order = ResponseOrder()
    first, silent, third = (order.open() for _ in range(3))
    assert order.complete(third, [b"3"]) == []
    assert order.complete(silent, []) == []
    assert order.complete(first, [b"1"]) == [b"1", b"3"]
    assert len(order) == 0


@pytest.mark.parametrize("sequence", [-1, 0, 3])
def test_a_response_is_given_once(sequence: int) -> None:
    order = ResponseOrder()
    for _ in range(3):
        order.open()
    order.complete(0, [b"1"])
    order.complete(2, [b"3"])
    with pytest.raises(ValueError, match="not waiting"):
        order.complete(sequence, [b"again"])
    with pytest.raises(ValueError, match="not waiting"):
        order.complete(2, [b"again"])
