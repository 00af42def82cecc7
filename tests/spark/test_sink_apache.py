"""The exactly-once sink against Apache Kafka: its coordinators' answers are the ones that count. No JVM of Spark's."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.interop.apache.class_archive import archived_jars
from tests.interop.apache.jars import ApacheMissing
from tests.spark.apache_cluster import ApacheCluster, apache_cluster
from tests.spark.sink_driving import Killed, Run, StoppableCommit, expected, values
from tests.spark.test_sink_exactly_once import open_ids

from pyspark_tidelog.errors import SinkError
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.testing.topics import create_topic

pytestmark = pytest.mark.early

WAIT_S_MAX = 60
POINTS = ["record", "commit", "abort strays"]


@pytest.fixture(scope="module")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    try:
        jars = archived_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE KAFKA DID NOT RUN, THE SINK IS NOT TESTED WITH IT: {missing}")
    with apache_cluster(jars, tmp_path_factory.mktemp("one"), 1) as cluster:
        yield cluster


@pytest.fixture
def start(apache: ApacheCluster, kafka_topic_prefix: str) -> Callable[..., Run]:
    output = f"{kafka_topic_prefix}output"
    create_topic(apache.bootstrap, output, 2, {})
    named = {"kafka.bootstrap.servers": apache.bootstrap, "topic": output, "ledgerTopic": f"{kafka_topic_prefix}ledger"}
    return lambda **others: Run({**named, **others}, f"{kafka_topic_prefix}query")


def await_values(bootstrap: str, topic: str, wanted: list[bytes]) -> None:
    """Kafka answers an EndTxn before its markers are written."""
    deadline = time.monotonic() + WAIT_S_MAX
    while (found := values(bootstrap, topic)) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies_and_a_replay(start: Callable[..., Run], apache: ApacheCluster, point: str) -> None:
    died = start()
    died.commit(died.write_all(0), 0)
    with pytest.raises(Killed):
        died.commit(died.write_all(1), 1, stop_before=point)
    again = start()
    again.commit(again.write_all(1), 1)
    replayed = start()
    replayed.commit(replayed.write_all(1), 1)  # the commit file was deleted
    replayed.commit(replayed.write_all(2), 2)
    await_values(apache.bootstrap, died.options["topic"], expected(0, 1, 2))
    assert open_ids(apache.bootstrap, died.query_id) == []


def test_a_driver_believed_dead(start: Callable[..., Run], apache: ApacheCluster) -> None:
    zombie, other = start(), start()
    messages = zombie.write_all(0)

    class Paused(StoppableCommit):
        def drive(self, steps: object) -> None:
            for step in steps:  # type: ignore[attr-defined]
                if step.what == "record":
                    other.commit(other.write_all(0), 0)

    with pytest.raises(SinkError, match="taken over"):
        Paused(zombie.writer()._options, 0, messages).commit()
    await_values(apache.bootstrap, zombie.options["topic"], expected(0))


def test_transactions_that_somebody_ended_after_the_decision(start: Callable[..., Run], apache: ApacheCluster) -> None:
    """As a timeout does, for which Kafka takes ten seconds more."""
    died = start()
    messages = died.write_all(0)
    with pytest.raises(Killed):
        died.commit(messages, 0, stop_before="commit")
    lost = messages[0].transaction
    assert lost is not None
    with Client(apache.bootstrap) as client:
        Admin(client).fence_producer(lost.transactional_id)
    again = start()
    with pytest.raises(SinkError, match="1 of its 2 transactions are not committed"):
        again.commit(again.write_all(0), 0)
    told = start(acceptLostBatch="0")
    told.commit(told.write_all(0), 0)
    told.commit(told.write_all(1), 1)
    await_values(apache.bootstrap, died.options["topic"], [b"0-1-a", b"0-1-b", *expected(1)])


def test_the_broker_dies_in_the_middle_of_the_commit(start: Callable[..., Run], apache: ApacheCluster) -> None:
    """And comes back while the driver tries again."""
    query = start()
    messages = query.write_all(0)

    class Interrupted(StoppableCommit):
        def drive(self, steps: object) -> None:
            for step in steps:  # type: ignore[attr-defined]
                if step.what == "commit":
                    (node,) = apache.nodes
                    node.kill()
                    revival = threading.Timer(1.0, node.start)
                    revival.start()

    Interrupted(query.writer()._options, 0, messages).commit()
    await_values(apache.bootstrap, query.options["topic"], expected(0))
