"""What a user reads first, and that it survives the way from a task to the driver."""

import pickle

import pytest

from pyspark_tidelog.errors import ClusterError, DataLoss, OptionError, SinkError, TidelogError, told
from tidelog.client.errors import CannotConnect, ClientError
from tidelog.model.errors import ErrorCode


@pytest.mark.parametrize(
    "error",
    [
        TidelogError("it rained", "in the harbour", "take an umbrella"),
        OptionError("minPartitions", "0 is out of range", "choose a number from 1"),
        DataLoss("orders", 3, 17, (20, 40)),
        DataLoss("orders", 3, 17, None, "topic deleted"),
        SinkError("row 7 is too large", "orders-3"),
        ClusterError("plan: broken", "node 1", "mend it", ErrorCode.NOT_CONTROLLER),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_pickles_whole(error: TidelogError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_the_texts_say_what_where_and_what_next() -> None:
    assert str(TidelogError("it rained", "harbour", "wait")) == "it rained (harbour); wait"
    assert str(TidelogError("it rained")) == "it rained"
    assert str(OptionError("asOf", "'x' is not a time")).startswith("asOf: ")


@pytest.mark.parametrize(
    ("available", "text"),
    [
        ((20, 40), "orders-3: offset 17 is wanted, offsets 20 to 39 are available"),
        ((40, 40), "orders-3: offset 17 is wanted, the log is empty at offset 40"),
        (None, "orders-3: offset 17 is wanted, the partition is gone"),
    ],
)
def test_data_loss_names_place_wanted_and_available(available: tuple[int, int] | None, text: str) -> None:
    error = DataLoss("orders", 3, 17, available)
    assert str(error).startswith(text)
    assert "failOnDataLoss" in str(error)
    assert (error.topic, error.partition, error.wanted, error.available) == ("orders", 3, 17, available)


def test_a_clients_error_becomes_ours_and_is_not_printed_before_it() -> None:
    cause = CannotConnect(
        ErrorCode.NETWORK_EXCEPTION, "connect", "cluster at nowhere:9092", "refused", "is it running?"
    )
    with pytest.raises(ClusterError) as caught, told("plan a read of orders"):
        raise cause
    assert str(caught.value) == (
        "plan a read of orders: NETWORK_EXCEPTION: refused (connect, cluster at nowhere:9092); is it running?"
    )
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_other_errors_pass_unchanged() -> None:
    for error in (OptionError("asOf", "no"), KeyError("x")):
        with pytest.raises(type(error)) as caught, told("anything"):
            raise error
        assert caught.value is error


def test_the_step_of_an_error_code_is_kept() -> None:
    with pytest.raises(ClusterError, match="tidelog topics create"), told("read"):
        raise ClientError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "find topic x", "broker 1")
