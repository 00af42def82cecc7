"""Against Apache Kafka 4.3.1, one node and three: read, written exactly once, and brokers that die in the middle."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.interop.apache.class_archive import archived_jars
from tests.interop.apache.jars import ApacheMissing
from tests.spark.apache_cluster import ApacheCluster, ApacheNode, apache_cluster
from tests.spark.rows import OFFICIAL, OURS, create, plain, produce_a_bit_of_everything, produce_in_transactions, read
from tests.spark.sink_driving import Run, expected
from tests.spark.test_read_broker import task_of

from pyspark_tidelog.sink.commit import SinkCommit
from pyspark_tidelog.sink.two_phase import Step
from pyspark_tidelog.source.record_batches import record_batches
from tidelog.client.client import Client
from tidelog.client.coordinators import CoordinatorClient, CoordinatorType

pytestmark = pytest.mark.early

RECORDS = 12_000
A_BATCH = 2_000
WAIT_S = 240


@pytest.fixture(scope="module")
def jars() -> Path:
    try:
        return archived_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE KAFKA DID NOT RUN, SPARK WITH IT IS NOT TESTED: {missing}")


@pytest.fixture(scope="module")
def one(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with apache_cluster(jars, tmp_path_factory.mktemp("one"), 1) as cluster:
        yield cluster.bootstrap


@pytest.fixture(scope="module")
def three_nodes(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    with apache_cluster(jars, tmp_path_factory.mktemp("three"), 3) as cluster:
        yield cluster


@pytest.fixture
def three(three_nodes: ApacheCluster) -> ApacheCluster:
    """All of them: the test before may have killed one."""
    three_nodes.revive()
    return three_nodes


def fill(bootstrap: str, topic: str, partitions: int) -> None:
    """In so many record batches that one fetch does not get them all."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.num.messages": 500})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=number % partitions)
    assert producer.flush(60) == 0


def committed(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """What is there under read_committed in two partitions, once there are so many at least: Kafka answers an EndTxn
    before its markers are written."""
    found: list[bytes] = []

    def are_there() -> bool:
        found[:] = to_the_end(bootstrap, topic, 2)
        return len(found) >= count

    wait_for(are_there)
    return found


def to_the_end(bootstrap: str, topic: str, partitions: int) -> list[bytes]:
    """As a consumer sees it that nobody here wrote."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "check", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found: list[bytes] = []
    ended: set[int | None] = set()
    while len(ended) < partitions:
        message = consumer.poll(30)
        assert message is not None, "the end was not reached"
        error = message.error()
        if error is None:
            found.append(message.value() or b"")
        else:
            ended.add(message.partition())
    consumer.close()
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.usefixtures("official_connector")
def test_reads_the_same_as_the_official_connector(spark: SparkSession, one: str) -> None:
    create(one, "everything", 3, 1)
    create(one, "transactions", 1, 1)
    count = produce_a_bit_of_everything(one, "everything", range(3))
    count += produce_in_transactions(one, "transactions", "writer")
    options = {"subscribePattern": "everything|transactions", "includeHeaders": "true"}
    options["kafka.isolation.level"] = "read_committed"
    ours = plain(read(spark, OURS, one, **options))
    assert len(ours) == count
    assert ours == plain(read(spark, OFFICIAL, one, **options))


@pytest.mark.usefixtures("limits")
def test_a_stream_is_written_exactly_once(spark: SparkSession, one: str, tmp_path: Path) -> None:
    """Its last commit is forgotten and it runs again: the batch is replayed, and nothing is there twice."""
    create(one, "in", 2, 1)
    create(one, "out", 2, 1)
    fill(one, "in", 2)
    checkpoint = tmp_path / "checkpoint"
    for _ in range(2):
        query = copy(stream(spark, one, "in", maxOffsetsPerTrigger="5000"), one, "out", checkpoint)
        assert query.awaitTermination(WAIT_S)
        last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink()
    assert Counter(committed(one, "out", RECORDS)) == Counter(b"%d" % number for number in range(RECORDS))


@pytest.mark.usefixtures("limits")
def test_a_leader_dies_in_the_middle_of_a_read(
    spark: SparkSession, three: ApacheCluster, topic: str, tmp_path: Path
) -> None:
    create(three.bootstrap, topic, 1, 3)
    fill(three.bootstrap, topic, 1)
    seen: Counter[int] = Counter()

    def count(frame: DataFrame, _batch: int) -> None:
        seen.update(row.offset for row in frame.select("offset").collect())
        if len(seen) >= 2 * A_BATCH and not killed:
            leader = three.leader(topic)
            leader.kill()
            killed.append(leader.node_id)

    killed: list[int] = []
    reading = stream(spark, three.bootstrap, topic, maxOffsetsPerTrigger=str(A_BATCH))
    query = reading.writeStream.foreachBatch(count).option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert query.trigger(availableNow=True).start().awaitTermination(WAIT_S)
    assert killed
    assert seen == Counter(range(RECORDS))


def test_a_leader_dies_in_the_middle_of_a_task(three: ApacheCluster, topic: str) -> None:
    """Without a JVM of Spark's: between two fetches."""
    create(three.bootstrap, topic, 1, 3)
    fill(three.bootstrap, topic, 1)
    batches = record_batches(task_of(three.bootstrap, topic, 0, RECORDS, columns=("offset",), retry_timeout_ms=60_000))
    found = next(batches).column("offset").to_pylist()
    assert len(found) < RECORDS / 2
    three.leader(topic).kill()
    found += [offset for batch in batches for offset in batch.column("offset").to_pylist()]
    assert found == list(range(RECORDS))


@pytest.mark.usefixtures("limits")
@pytest.mark.long
def test_a_broker_dies_while_the_sink_writes(
    spark: SparkSession, bootstrap: str, topic: str, three: ApacheCluster, tmp_path: Path
) -> None:
    """From our broker to Apache's cluster, whose leader of the output goes down and comes back."""
    create(bootstrap, topic, 2, 1)
    fill(bootstrap, topic, 2)
    create(three.bootstrap, topic, 2, 3)
    reading = stream(spark, bootstrap, topic, maxOffsetsPerTrigger=str(A_BATCH))
    query = copy(reading, three.bootstrap, topic, tmp_path / "checkpoint")
    wait_for(lambda: len(query.recentProgress) > 1 or not query.isActive)
    three.leader(topic).kill()
    wait_for(lambda: len(query.recentProgress) > 3 or not query.isActive)
    three.revive()
    assert query.awaitTermination(WAIT_S)
    found = committed(three.bootstrap, topic, RECORDS)
    assert Counter(found) == Counter(b"%d" % number for number in range(RECORDS))


@pytest.mark.long
def test_brokers_die_between_the_steps_of_a_commit(three: ApacheCluster, topic: str) -> None:
    """Driven as Spark drives it, without a JVM of its own: the one that the next step needs is killed just before, and
    is back only after the batch."""
    create(three.bootstrap, topic, 2, 3)
    ledger = f"{topic}-ledger"
    options = {"kafka.bootstrap.servers": three.bootstrap, "topic": topic, "ledgerTopic": ledger}
    start = partial(Run, options, f"{topic}-query")
    first = start()
    first.commit(first.write_all(0), 0)
    victims: list[tuple[str, Callable[[str], ApacheNode]]] = [
        ("list strays", lambda transactional_id: coordinator(three, transactional_id)),
        ("record", lambda _id: three.leader(ledger)),
        ("commit", lambda transactional_id: coordinator(three, transactional_id)),
    ]
    for batch, (step, victim) in enumerate(victims, 1):
        run = start()  # anew, because a first commit takes all steps
        messages = run.write_all(batch)
        ended = next(each.transaction for each in messages if each.transaction is not None)
        made = Interrupted(run.writer()._options, batch, messages)
        made.before, made.then = step, victim(ended.transactional_id).kill
        made.commit()
        three.revive()
    wanted = expected(*range(len(victims) + 1))
    assert sorted(committed(three.bootstrap, topic, len(wanted))) == wanted


class Interrupted(SinkCommit):
    before: str
    then: Callable[[], None]

    def drive(self, steps: Iterable[Step]) -> None:
        taken = []
        for step in steps:
            taken.append(step.what)
            if step.what == self.before:
                self.then()
        assert self.before in taken


def coordinator(cluster: ApacheCluster, transactional_id: str) -> ApacheNode:
    with Client(cluster.bootstrap) as client:
        return cluster.node(CoordinatorClient(client, CoordinatorType.TRANSACTION).find(transactional_id))


def stream(spark: SparkSession, bootstrap: str, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format(OURS).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(subscribe=topic, startingOffsets="earliest", **options).load()


def copy(frame: DataFrame, bootstrap: str, topic: str, checkpoint: Path) -> StreamingQuery:
    writer = frame.select("key", "value", "partition").writeStream.format(OURS)
    writer = writer.option("kafka.bootstrap.servers", bootstrap).option("topic", topic)
    writer = writer.option("checkpointLocation", str(checkpoint)).option("deliveryGuarantee", "exactly-once")
    return writer.trigger(availableNow=True).start()
