"""Who writes what: checkpoints that are rewound or copied, jobs that share an id, and a query id that is taken over.
Against a real broker, without a JVM: no row is dropped without an error that names both sides."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.sink_driving import Checkpoint, Run, expected, rows, values
from tests.spark.test_sink_exactly_once import PREFIX, open_ids

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.decisions import Decision, Transaction
from pyspark_tidelog.sink.ledger import Ledger
from pyspark_tidelog.sink.ledger_topic import CONFIGS
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.producer import Producer
from tidelog.client.producer.transactional_producer import TransactionalProducer

Start = Callable[..., Run]


@pytest.fixture
def output(kafka_topic: Callable[..., str]) -> str:
    return kafka_topic("output", partitions=2)


@pytest.fixture
def ledger(kafka_topic_prefix: str) -> str:
    return f"{kafka_topic_prefix}ledger"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "first", str(uuid.uuid4()))


@pytest.fixture
def start(bootstrap: str, output: str, ledger: str) -> Start:
    """Start the query of a checkpoint."""
    options = {"kafka.bootstrap.servers": bootstrap, "topic": output, "ledgerTopic": ledger}

    def started(of: Checkpoint, **others: str) -> Run:
        return Run({**options, "checkpointLocation": str(of.directory), **others}, of.query_id)

    return started


def write(run: Run, checkpoint: Checkpoint, batch_id: int, value: str = "") -> None:
    """One batch, as Spark does it: planned, written, committed."""
    checkpoint.plan(batch_id)
    row = (value or f"{batch_id}").encode()
    messages = [run.write(batch_id, task, [rows(b"%s-%d" % (row, task))]) for task in range(2)]
    run.commit(messages, batch_id)


def decided(bootstrap: str, ledger: str, query_id: str) -> Decision:
    with Client(bootstrap) as client:
        found = Ledger(client, ledger, TransactionalIds(PREFIX, query_id)).read(is_final=False)
    assert found is not None
    return found


def seen(bootstrap: str, output: str) -> list[str]:
    return sorted({(value or b"").decode().rpartition("-")[0] for value in values(bootstrap, output)})


def test_a_replay_is_the_same_batch_of_the_same_checkpoint(
    start: Start, bootstrap: str, output: str, ledger: str, checkpoint: Checkpoint
) -> None:
    first = start(checkpoint)
    write(first, checkpoint, 0)
    write(first, checkpoint, 1)
    again = start(checkpoint)
    write(again, checkpoint, 1)
    assert len(values(bootstrap, output)) == 4
    found = decided(bootstrap, ledger, checkpoint.query_id)
    assert found.run_id == again.run_id, "recorded again under the new run"
    assert found.origin.checkpoint_id == checkpoint.query_id
    assert found.origin.digest
    with pytest.raises(SinkError, match="another driver of this query has taken over"):
        write(first, checkpoint, 2)
    assert open_ids(bootstrap, checkpoint.query_id) == []
    write(again, checkpoint, 2)
    assert seen(bootstrap, output) == ["0", "1", "2"]


def test_a_rewound_checkpoint(start: Start, bootstrap: str, output: str, checkpoint: Checkpoint, ledger: str) -> None:
    """To the last batch, which is planned anew, and to one before."""
    first = start(checkpoint)
    for batch_id in range(3):
        write(first, checkpoint, batch_id)
    checkpoint.rewind(2)
    with pytest.raises(SinkError, match="another batch of this number is committed, with other offsets") as raised:
        write(start(checkpoint), checkpoint, 2, "new")
    token = f"2@{first.run_id.replace('-', '')[:12]}"
    assert first.run_id in str(raised.value)
    assert f"takeOver to {token}" in str(raised.value)
    checkpoint.rewind(1)
    with pytest.raises(SinkError, match=r"batch 1 of query .* is not written: batch 2 is committed already"):
        write(start(checkpoint), checkpoint, 1, "new")
    assert seen(bootstrap, output) == ["0", "1", "2"]
    taking = start(checkpoint, takeOver=token)
    for batch_id in (1, 2, 3):
        write(taking, checkpoint, batch_id, f"taken {batch_id}")
    assert seen(bootstrap, output) == ["0", "1", "2", "taken 1", "taken 2", "taken 3"]
    again = start(checkpoint, takeOver=token)  # left in place, it means nothing any more
    write(again, checkpoint, 3, "twice")
    assert "twice" not in seen(bootstrap, output)
    assert decided(bootstrap, ledger, checkpoint.query_id).batch_id == 3


def test_a_copied_checkpoint_goes_its_own_way_until_it_meets_the_other(
    start: Start, bootstrap: str, output: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    first = start(checkpoint)
    write(first, checkpoint, 0)
    copy = checkpoint.copy(tmp_path / "copy")
    second = start(copy)
    write(second, copy, 1, "copy 1")
    with pytest.raises(SinkError, match="is not written"):
        write(first, checkpoint, 1)
    with pytest.raises(SinkError, match="another batch of this number is committed"):
        write(start(checkpoint), checkpoint, 1)
    write(second, copy, 2, "copy 2")
    with pytest.raises(SinkError, match="is not written: batch 2 is committed already"):
        write(start(checkpoint), checkpoint, 1)
    assert seen(bootstrap, output) == ["0", "copy 1", "copy 2"]
    assert open_ids(bootstrap, checkpoint.query_id) == []


def test_the_original_does_not_go_on_after_a_copy_has_taken_over(
    start: Start, bootstrap: str, output: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """Its next number is higher than the copy's last, but the copy's last batch is not of its past."""
    write(start(checkpoint), checkpoint, 0)
    copy = checkpoint.copy(tmp_path / "copy")
    first = start(checkpoint)
    write(first, checkpoint, 1)
    write(start(copy, takeOver=f"1@{first.run_id.replace('-', '')[:12]}"), copy, 1, "copy 1")
    with pytest.raises(SinkError, match="its checkpoint has another batch 1 than the one that is committed"):
        write(start(checkpoint), checkpoint, 2)
    with pytest.raises(SinkError, match="takeOver is 7@000000000000, which names another decision"):
        write(start(checkpoint, takeOver="7@000000000000"), checkpoint, 2)
    write(start(copy), copy, 2, "copy 2")
    assert seen(bootstrap, output) == ["0", "1", "copy 1", "copy 2"]
    assert open_ids(bootstrap, checkpoint.query_id) == []


def test_where_the_checkpoint_can_not_be_read_numbers_have_to_do(
    start: Start, bootstrap: str, output: str, checkpoint: Checkpoint
) -> None:
    first = start(checkpoint, checkpointLocation="s3a://elsewhere/checkpoint")
    write(first, checkpoint, 0)
    write(first, checkpoint, 1)
    write(start(checkpoint), checkpoint, 1)
    assert seen(bootstrap, output) == ["0", "1"]
    with pytest.raises(SinkError, match="batch 1 is committed already"):
        write(start(checkpoint), checkpoint, 0)


def test_a_ledger_of_the_version_before(
    start: Start, bootstrap: str, output: str, ledger: str, checkpoint: Checkpoint
) -> None:
    """Its last batch was decided, and the driver died before it had committed it; another task had been killed."""
    query_id = checkpoint.query_id
    former = f"{PREFIX}-{query_id}-0123456789ab-1-"
    with Client(bootstrap) as client:
        zombie = former_driver(client, ledger, query_id)
        transaction = leave_open(client, f"{former}0", output, b"former-0")
        leave_open(client, f"{former}1-1", output, b"stray-0")
        record = {"version": 1, "batch": 1, "run": "0123456789ab", "transactions": [list(transaction)]}
        with zombie.transaction():
            zombie.send(ledger, json.dumps(record).encode(), key=query_id.encode(), partition=0)
        with pytest.raises(SinkError, match="batch 1 is committed already"):
            write(start(checkpoint), checkpoint, 0)
        run = start(checkpoint)
        write(run, checkpoint, 1)
        assert seen(bootstrap, output) == ["former"]
        assert open_ids(bootstrap, query_id) == []
        with pytest.raises(ClientError, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"), zombie.transaction():
            zombie.send(ledger, b"{}", key=query_id.encode(), partition=0)
    write(run, checkpoint, 2)
    assert seen(bootstrap, output) == ["2", "former"]


def former_driver(client: Client, ledger: str, query_id: str) -> TransactionalProducer:
    Admin(client).create_topic(NewTopic(ledger, 1, configs=CONFIGS))
    client.topic(ledger, may_create=True)
    producer = TransactionalProducer(client, f"{PREFIX}-{query_id}-driver", linger_ms=0)
    producer.init_transactions()
    return producer


def leave_open(client: Client, transactional_id: str, topic: str, value: bytes) -> Transaction:
    producer = TransactionalProducer(client, transactional_id)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, value)
    return Transaction(*producer.hand_over_transaction())


def test_ids_of_which_one_begins_like_the_other(bootstrap: str, output: str, ledger: str) -> None:
    options = {"kafka.bootstrap.servers": bootstrap, "topic": output, "ledgerTopic": ledger}
    name = f"orders-{uuid.uuid4()}"
    other = Run(options, f"{name}-eu")
    messages = other.write_all(0)
    first = Run(options, name)
    first.commit(first.write_all(0), 0)
    other.commit(messages, 0)
    assert values(bootstrap, output) == sorted(expected(0) * 2)


def test_two_prefixes_do_not_share_a_decision(bootstrap: str, output: str, ledger: str) -> None:
    options = {"kafka.bootstrap.servers": bootstrap, "topic": output, "ledgerTopic": ledger}
    name = str(uuid.uuid4())
    for prefix in ("one", "two"):
        run = Run({**options, "transactionalIdPrefix": prefix}, name)
        run.commit(run.write_all(0), 0)
    assert values(bootstrap, output) == sorted(expected(0) * 2)


@pytest.mark.parametrize("is_before_the_decision", [True, False])
def test_a_topic_that_is_made_anew(
    start: Start, bootstrap: str, output: str, checkpoint: Checkpoint, is_before_the_decision: bool
) -> None:
    checkpoint.plan(0)
    run = start(checkpoint)
    messages = run.write_all(0)
    if not is_before_the_decision:
        run.commit(messages, 0)
    make_anew(bootstrap, output)
    if is_before_the_decision:
        with pytest.raises(SinkError, match=r"is not committed: .* was deleted while it was written"):
            run.commit(messages, 0)
        again = start(checkpoint)
        again.commit(again.write_all(0), 0)
        assert values(bootstrap, output) == expected(0)
        return
    again = start(checkpoint)
    with pytest.raises(SinkError, match=r"was committed, but .* was deleted since") as raised:
        again.commit(again.write_all(0), 0)
    assert "set acceptLostBatch to 0" in str(raised.value)
    told = start(checkpoint, acceptLostBatch="0")
    told.commit(told.write_all(0), 0)
    checkpoint.plan(1)
    told.commit(told.write_all(1), 1)
    assert values(bootstrap, output) == expected(1)


def make_anew(bootstrap: str, topic: str, count: int = 0) -> None:
    with Client(bootstrap) as client:
        Admin(client).delete_topic(topic)
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(topic, 2))
        client.topic(topic, may_create=True)
        with Producer(client) as producer:
            for number in range(count):
                producer.send(topic, b"new %d" % number, partition=0)


def test_a_source_that_is_made_anew_between_an_attempt_and_its_replay(
    start: Start, bootstrap: str, output: str, checkpoint: Checkpoint, kafka_topic: Callable[..., str]
) -> None:
    """The reader of the new run can not know: its offsets are in the new topic, too."""
    source = kafka_topic("source", partitions=2)
    run = start(checkpoint)
    checkpoint.plan(0, **{source: 5})
    run.commit(run.write_all(0), 0)
    checkpoint.plan(1, **{source: 10})
    run.write_all(1)  # and the driver dies
    make_anew(bootstrap, source, count=20)
    again = start(checkpoint)
    with pytest.raises(SinkError, match=f"topic {source}, which the query reads, was deleted and made anew") as raised:
        again.commit(again.write_all(1), 1)
    token = f"0@{run.run_id.replace('-', '')[:12]}"
    assert f"set the option takeOver to {token}" in str(raised.value)
    assert values(bootstrap, output) == expected(0)
    told = start(checkpoint, takeOver=token)
    told.commit(told.write_all(1), 1)
    last = start(checkpoint)
    checkpoint.plan(2, **{source: 15})
    last.commit(last.write_all(2), 2)
    assert values(bootstrap, output) == expected(0, 1, 2)
    assert open_ids(bootstrap, checkpoint.query_id) == []
