"""Attempts of tasks, and what they leave behind: stage retries, aborts of Spark's, timeouts, and the ledger's topic.
With a real broker, without a JVM."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.spark.sink_driving import ATTEMPTS, Checkpoint, Run, expected, rows, values
from tests.spark.test_sink_exactly_once import PREFIX, open_ids

from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.kafka.cluster import ClusterView
from pyspark_tidelog.kafka.settings import cluster_options
from pyspark_tidelog.sink.commit import BATCHES_BETWEEN_SWEEPS
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from pyspark_tidelog.source.options import SubscribePattern
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.metadata.configs import ResourceType
from tidelog.testing import Broker, broker
from tidelog.testing.topics import create_topic

Start = Callable[..., Run]


@pytest.fixture
def output(kafka_topic: Callable[..., str]) -> str:
    return kafka_topic("output", partitions=2)


@pytest.fixture
def ledger(kafka_topic_prefix: str) -> str:
    return f"{kafka_topic_prefix}ledger"


@pytest.fixture
def start(bootstrap: str, output: str, ledger: str) -> Start:
    options = {"kafka.bootstrap.servers": bootstrap, "topic": output, "ledgerTopic": ledger}
    query_id = str(uuid.uuid4())
    return lambda **others: Run({**options, **others}, query_id)


def all_ids(bootstrap: str, query_id: str) -> list[str]:
    with Client(bootstrap) as client:
        pattern = TransactionalIds(PREFIX, query_id).pattern
        return [each.transactional_id for each in Admin(client).list_transactions(pattern=pattern)]


def test_a_stage_retry_does_not_end_what_was_handed_over(start: Start, bootstrap: str, output: str) -> None:
    """Spark counts attempts from 0 again (SPARK-24552), and both attempts of task 1 may be the one that it takes. Task
    0 has died before it wrote anything, and with it a part of the shuffle, which is computed again."""
    query = start()
    query.commit(query.write_all(0), 0)
    for batch_id in (1, 2):
        row = b"%d-%%d-%%s" % batch_id
        first = query.write(batch_id, 1, [rows(row % (1, b"a"), row % (1, b"b"))])
        next(ATTEMPTS)
        retried = query.write_all(batch_id)
        assert not retried[0].is_repeated
        assert retried[1].is_repeated
        assert first.transaction is not None
        assert retried[1].transaction is not None
        assert retried[1].transaction.transactional_id.startswith(f"{first.transaction.transactional_id}-")
        query.commit([retried[0], first if batch_id == 1 else retried[1]], batch_id)
        assert values(bootstrap, output) == expected(*range(batch_id + 1))
        assert open_ids(bootstrap, query.query_id) == [], "readers would wait for the other"


def test_a_late_attempt_is_aborted_by_the_next_run(start: Start, bootstrap: str, output: str) -> None:
    query = start()
    query.commit(query.write_all(0), 0)
    messages = query.write_all(1)
    query.write(1, 1, [rows(b"late")])
    query.commit(messages, 1)
    assert len(open_ids(bootstrap, query.query_id)) == 1
    again = start()
    again.commit(again.write_all(1), 1)
    assert open_ids(bootstrap, query.query_id) == [], "a replay looks for them, too"
    assert values(bootstrap, output) == expected(0, 1)


def test_a_late_attempt_is_aborted_by_a_run_that_goes_on(start: Start, bootstrap: str, output: str) -> None:
    query = start()
    last = BATCHES_BETWEEN_SWEEPS - 1
    query.commit(query.write_all(last - 1), last - 1)
    messages = query.write_all(last)
    query.write(last, 1, [rows(b"late")])
    query.commit(messages, last)
    assert len(open_ids(bootstrap, query.query_id)) == 1
    query.commit(query.write_all(last + 1), last + 1)
    assert open_ids(bootstrap, query.query_id) == []
    assert values(bootstrap, output) == expected(last - 1, last, last + 1)


def test_ids_grow_with_failures_and_not_with_batches(start: Start, bootstrap: str) -> None:
    query = start()
    for batch_id in range(6):
        steps = query.commit(query.write_all(batch_id), batch_id)
        assert ("list strays" in steps) == (batch_id == 0)
    assert len(all_ids(bootstrap, query.query_id)) == 4
    query.write_all(6)
    query.commit(query.write_all(6), 6)
    for batch_id in range(7, 10):
        query.commit(query.write_all(batch_id), batch_id)
    assert len(all_ids(bootstrap, query.query_id)) == 6


@pytest.mark.parametrize("is_told", [True, False])
def test_a_query_that_is_stopped_in_the_middle_leaves_nothing_open(
    start: Start, bootstrap: str, output: str, tmp_path: Path, is_told: bool
) -> None:
    """Spark's messages are those of the tasks that have ended; whose the batch is, the checkpoint knows, too."""
    query = start()
    Checkpoint(tmp_path / "checkpoint", query.query_id)
    query = start(checkpointLocation=str(tmp_path / "checkpoint"))
    query.commit(query.write_all(0), 0)
    messages = query.write_all(1)
    query.abort([messages[0] if is_told else None, None], 1)
    assert open_ids(bootstrap, query.query_id) == []
    assert values(bootstrap, output) == expected(0)
    again = start()
    again.commit(again.write_all(1), 1)
    assert values(bootstrap, output) == expected(0, 1)


def test_an_abort_that_knows_no_run_leaves_two_of_them_alone(
    start: Start, bootstrap: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another driver writes: it would lose its batch."""
    query = start()
    Checkpoint(tmp_path / "checkpoint", query.query_id)
    query.write_all(0)
    start().write_all(0)
    start(checkpointLocation=str(tmp_path / "checkpoint")).abort([None, None], 0)
    assert len(open_ids(bootstrap, query.query_id)) == 4
    assert "transactions of 2 runs open" in caplog.text


# Timeouts


@pytest.fixture(scope="module")
def strict() -> Iterator[Broker]:
    """Allows transactions of forty seconds, and no more."""
    with broker({"transaction.max.timeout.ms": 40_000}) as started:
        yield started


def test_a_cluster_that_allows_less_time(
    strict: Broker, kafka_topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = f"{kafka_topic_prefix}topic"
    create_topic(strict.bootstrap_servers, topic, 2, {})
    options = {"kafka.bootstrap.servers": strict.bootstrap_servers, "topic": topic}
    for chosen in ({"deliveryGuarantee": "exactly-once"}, {"kafka.transaction.timeout.ms": "60000"}):
        with pytest.raises(OptionError, match=r"kafka.transaction.timeout.ms: the cluster allows less than \d+"):
            Run({**options, **chosen}, "query").write_all(0)
    query = Run(options, str(uuid.uuid4()))
    query.commit(query.write_all(0), 0)
    assert values(strict.bootstrap_servers, topic) == expected(0)
    assert "the cluster allows transactions of 30000 ms, not of 900000" in caplog.text


# The ledger's topic


def test_the_ledger_is_made_to_keep_what_it_decides(start: Start, bootstrap: str, ledger: str) -> None:
    query = start()
    query.commit(query.write_all(0), 0)
    with Client(bootstrap) as client:
        found = Admin(client).describe_configs(ResourceType.TOPIC, ledger)
        topic = Admin(client).describe_topic(ledger)
    assert found["cleanup.policy"].value == "compact"
    assert found["unclean.leader.election.enable"].value == "false"
    assert found["min.insync.replicas"].value == "1"
    assert len(topic.partitions) == len(topic.partitions[0].replicas) == 1


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_that_forgets_is_no_ledger(start: Start, bootstrap: str, ledger: str, output: str, policy: str) -> None:
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(ledger, 1, configs={"cleanup.policy": policy}))
        client.topic(ledger, may_create=True)
    query = start()
    messages = query.write_all(0)
    with pytest.raises(SinkError, match=f"ledger topic {ledger} has cleanup.policy={policy}") as raised:
        query.commit(messages, 0)
    assert f"tidelog configs set --topic {ledger} cleanup.policy=compact" in str(raised.value)
    assert values(bootstrap, output) == []
    with Client(bootstrap) as client:
        Admin(client).set_configs(ResourceType.TOPIC, ledger, {"cleanup.policy": "compact"})
    query.commit(messages, 0)
    assert values(bootstrap, output) == expected(0)


def test_no_pattern_reads_the_ledger(bootstrap: str, output: str) -> None:
    query = Run({"kafka.bootstrap.servers": bootstrap, "topic": output}, str(uuid.uuid4()))
    query.commit(query.write_all(0), 0)
    view = ClusterView(cluster_options({"kafka.bootstrap.servers": bootstrap}))
    try:
        found = {topic_partition.topic for topic_partition in view.topic_partitions(SubscribePattern(".*"))}
    finally:
        view.close()
    assert output in found
    assert not any("tidelog_spark_ledger" in topic for topic in found)
