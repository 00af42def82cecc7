"""Exactly once with brokers that restart, transactions that time out, and transactions that never do (KIP-939)."""

import time
from collections.abc import Callable, Iterator

import pytest
from tests.spark.sink_driving import Killed, Run, expected, values
from tests.spark.test_sink_exactly_once import open_ids

from pyspark_tidelog.errors import SinkError
from tidelog.testing import Broker, broker
from tidelog.testing.topics import create_topic

TIMEOUT_MS = 3_000  # of those that are to run into it, which have done their part by then
WAIT_S_MAX = 30
QUICK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 50}


@pytest.fixture(scope="module")
def impatient() -> Iterator[Broker]:
    """Looks for transactions that took too long all the time."""
    with broker(QUICK) as started:
        yield started


@pytest.fixture(scope="module")
def two_phase() -> Iterator[Broker]:
    with broker({**QUICK, "transaction.two.phase.commit.enable": True}) as started:
        yield started


SHORT = {"kafka.transaction.timeout.ms": str(TIMEOUT_MS)}


def query(started: Broker, name: str, **options: str) -> Callable[..., Run]:
    create_topic(started.bootstrap_servers, name, 2, {})
    named = {"kafka.bootstrap.servers": started.bootstrap_servers, "topic": name, **options}
    return lambda **others: Run({**named, **others}, f"{name}-query")


def wait_until_timed_out(started: Broker, run: Run) -> None:
    until = time.monotonic() + WAIT_S_MAX
    while open_ids(started.bootstrap_servers, run.query_id):
        assert time.monotonic() < until, "the broker ends what takes too long"
        time.sleep(0.05)


def test_transactions_that_time_out_before_the_commit(impatient: Broker, kafka_topic_prefix: str) -> None:
    bootstrap, topic = impatient.bootstrap_servers, f"{kafka_topic_prefix}topic"
    start = query(impatient, topic)
    slow = start(**SHORT)
    messages = slow.write_all(0)
    wait_until_timed_out(impatient, slow)
    with pytest.raises(SinkError) as raised:
        slow.commit(messages, 0)
    text = str(raised.value)
    assert text.startswith(f"batch 0 of query {slow.query_id} is not committed, and nothing of it is visible")
    assert "kafka.transaction.timeout.ms (3000)" in text
    assert values(bootstrap, topic) == []
    again = start()
    again.commit(again.write_all(0), 0)
    assert values(bootstrap, topic) == expected(0)


def test_transactions_that_time_out_between_the_decision_and_their_end(
    impatient: Broker, kafka_topic_prefix: str
) -> None:
    bootstrap, topic = impatient.bootstrap_servers, f"{kafka_topic_prefix}topic"
    start = query(impatient, topic)
    died = start(**SHORT)
    messages = died.write_all(0)
    with pytest.raises(Killed):
        died.commit(messages, 0, stop_before="commit")
    wait_until_timed_out(impatient, died)
    again = start()
    for _ in range(2):  # however often it is started
        with pytest.raises(SinkError) as raised:
            again.commit(again.write_all(0), 0)
        text = str(raised.value)
        assert text.startswith(f"batch 0 of query {died.query_id} is incomplete")
        assert "2 of its 2 transactions are not committed" in text
        assert "set acceptLostBatch to 0" in text
    told = start(acceptLostBatch="0")
    told.commit(told.write_all(0), 0)
    told.commit(told.write_all(1), 1)
    assert values(bootstrap, topic) == expected(1)


def test_prepared_transactions_of_a_two_phase_commit_do_not_time_out(
    two_phase: Broker, kafka_topic_prefix: str
) -> None:
    bootstrap, topic = two_phase.bootstrap_servers, f"{kafka_topic_prefix}topic"
    start = query(two_phase, topic)
    died = start(**SHORT)
    messages = died.write_all(0)
    assert all(each.is_two_phase for each in messages)
    with pytest.raises(Killed):
        died.commit(messages, 0, stop_before="commit")
    time.sleep((TIMEOUT_MS + 1_000) / 1_000)
    assert len(open_ids(bootstrap, died.query_id)) == 2
    again = start()
    again.commit(again.write_all(0), 0)
    left = again.write_all(1)  # and the driver dies
    last = start()
    last.commit(last.write_all(1), 1)
    assert values(bootstrap, topic) == expected(0, 1)
    assert open_ids(bootstrap, died.query_id) == [], "nobody else would ever end those of the driver that died"
    assert all(each.transaction is not None for each in left)


@pytest.mark.parametrize("point", ["fence", "record", "commit"])
def test_a_broker_is_killed_in_the_middle_of_the_commit(two_phase: Broker, kafka_topic_prefix: str, point: str) -> None:
    bootstrap, topic = two_phase.bootstrap_servers, f"{kafka_topic_prefix}topic"
    start = query(two_phase, topic, **{"kafka.default.api.timeout.ms": "20000"})
    died = start()
    messages = died.write_all(0)
    with pytest.raises(Killed):
        died.commit(messages, 0, stop_before=point)
    two_phase.kill()
    two_phase.start()
    again = start()
    again.commit(again.write_all(0), 0)
    again.commit(again.write_all(1), 1)
    assert values(bootstrap, topic) == expected(0, 1)
