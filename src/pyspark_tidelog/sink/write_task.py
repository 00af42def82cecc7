"""A task of a write: it sends its rows to their topics, in a transaction that it leaves open for the driver to end.

A task that fails aborts its transaction; one that is killed cannot, and the driver finds its transaction among the
strays.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import WriterCommitMessage

from pyspark_tidelog.errors import SinkError, TidelogError, of_client
from pyspark_tidelog.kafka.first_contact import is_first_contact
from pyspark_tidelog.kafka.topic_ids import known_ids
from pyspark_tidelog.kafka.transaction_timeout import begun
from pyspark_tidelog.sink.decisions import Transaction, is_in_ledger, made_anew
from pyspark_tidelog.sink.ledger import Ledger
from pyspark_tidelog.sink.options import Guarantee, SinkOptions
from pyspark_tidelog.sink.rows import TopicRows, by_topic, gathered, place, refusal
from pyspark_tidelog.sink.speculation import refuse_in_task
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from pyspark_tidelog.sink.transactions import is_in_use
from pyspark_tidelog.spark.process import keep_what_is_imported
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, DeliveryFailed
from tidelog.client.producer.producer import Producer
from tidelog.client.producer.transaction_calls import offers_transactions
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.model.errors import ErrorCode

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

    from tidelog.client.arrow.produce import RefusedRows

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class Scope(NamedTuple):
    """The query, run, batch, task and attempt that rows belong to."""

    query_id: str
    run_id: str
    batch_id: int
    task: int
    task_attempt_id: int = 0  # no other attempt of any task of this driver has it
    name: str = ""  # tells several writes of one batch apart
    is_retry: bool = False  # an attempt before this one has failed, in the same try of the stage


@dataclass(slots=True)
class Written(WriterCommitMessage):
    """The message of a task to the driver: what it has written, and in which transaction."""

    scope: Scope
    guarantee: Guarantee
    rows: int = 0
    transaction: Transaction | None = None  # None: there were no rows, or they are written for good already
    is_skipped: bool = False  # the ledger has the batch already
    is_two_phase: bool = False  # the transaction stays open until somebody ends it
    is_repeated: bool = False  # another attempt has left a transaction open, or still writes
    topic_ids: dict[str, str] = field(default_factory=dict)  # ids of the topics that have rows
    checkpoint: str = ""  # the query's checkpoint location, where the settings of the session give it


def write_rows(options: SinkOptions, scope: Scope, batches: Iterable["pa.RecordBatch"]) -> Written:
    """Write the rows of a task with the guarantee that the options ask for, or the best that the cluster offers. Errors
    name the topic and the row where they are known."""
    keep_what_is_imported()
    doing = f"write in task {scope.task} of batch {scope.batch_id}"
    try:
        with options.cluster.connect(is_patient=not is_first_contact(options.batch_id)) as client:
            guarantee = options.guarantee or _best(client)
            write = _exactly_once if guarantee is Guarantee.EXACTLY_ONCE else _at_least_once
            return write(client, options, scope, gathered(batches))
    except ClientError as error:
        raise of_client(error, doing) from None


def _best(client: Client) -> Guarantee:
    return Guarantee.EXACTLY_ONCE if offers_transactions(client) else Guarantee.AT_LEAST_ONCE


def _at_least_once(client: Client, options: SinkOptions, scope: Scope, batches: Iterator["pa.RecordBatch"]) -> Written:
    producer = Producer(client, acks=options.producer.acks, idempotent=options.producer.idempotent, **_how(options))
    rows = _Rows(producer, options.topic, scope.task)
    for batch in batches:
        rows.produce(batch)
    rows.flush()
    return Written(scope, Guarantee.AT_LEAST_ONCE, rows.count)


def _exactly_once(client: Client, options: SinkOptions, scope: Scope, batches: Iterator["pa.RecordBatch"]) -> Written:
    refuse_in_task()
    told = Written(scope, Guarantee.EXACTLY_ONCE)
    first = next(batches, None)
    if first is None:
        return told
    ids = TransactionalIds(options.prefix, scope.query_id, scope.name)
    last = Ledger(client, options.ledger_topic, ids).read(is_final=False)
    if is_in_ledger(last, scope.batch_id, options.take_over):
        for _ in batches:
            pass  # Spark keeps a worker only if it has read all that it was sent
        told.is_skipped = True
        return told
    transactional_id = ids.task(scope.run_id, scope.batch_id, scope.task)
    if is_in_use(Admin(client), transactional_id):
        # Another attempt of this run uses the id, and may be done: to initialize the id would abort its transaction.
        transactional_id = ids.task(scope.run_id, scope.batch_id, scope.task, scope.task_attempt_id)
        told.is_repeated = True
    producer = begun(client, options, transactional_id, **_how(options))
    told.is_two_phase = producer.is_two_phase
    rows = _Rows(producer, options.topic, scope.task)
    with _aborting(producer):
        producer.begin_transaction()
        rows.produce(first)
        for batch in batches:
            rows.produce(batch)
        rows.flush()
        rows.check_topics()
        told.rows, told.transaction = rows.count, Transaction(*producer.hand_over_transaction())
        told.topic_ids = rows.topic_ids
    return told


def _how(options: SinkOptions) -> dict[str, Any]:
    found = options.producer
    return {
        "compression": found.compression,
        "compression_level": found.compression_level,
        "linger_ms": found.linger_ms,
        "batch_bytes": found.batch_bytes,
        "buffer_bytes": found.buffer_bytes,
        "delivery_timeout_ms": found.delivery_timeout_ms,
    }


@contextlib.contextmanager
def _aborting(producer: TransactionalProducer) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if producer.in_transaction:
            with contextlib.suppress(ClientError):  # the user is to see the first error, not that of the abort
                producer.abort_transaction()
        raise


class _Rows:
    """The rows of a task on their way to the producer, counted, so that an error can name the row."""

    def __init__(self, producer: Producer, topic: str | None, task: int) -> None:
        self._producer = producer
        self._topic = topic
        self._task = task
        self._refused: TidelogError | None = None
        self.count = 0
        self.topic_ids: dict[str, str] = {}

    def produce(self, batch: "pa.RecordBatch") -> None:
        for rows in by_topic(batch, self._topic, self._task, self.count):
            try:
                self._producer.produce_arrow(rows.topic, rows.batch, on_refused=self._teller(rows))
            except ClientError as error:
                self._check()
                raise self._of_topic(rows, error) from None
            self._check()
            if rows.topic not in self.topic_ids:
                self.topic_ids |= known_ids(self._producer.client, [rows.topic])
        self.count += batch.num_rows

    def flush(self) -> None:
        try:
            self._producer.flush()
        except DeliveryFailed:
            self._check()
            raise

    def check_topics(self) -> None:
        """Refuse to go on if a topic was made anew while rows were written to it: the rows before that are gone."""
        anew = made_anew(self.topic_ids, known_ids(self._producer.client, self.topic_ids))
        if anew:
            what = f"topic {anew[0]} was deleted and made anew while task {self._task} wrote to it"
            raise SinkError(what, "", "nothing of the batch is visible; it is written again when it is tried again")

    def _check(self) -> None:
        if self._refused is not None:
            raise self._refused

    def _teller(self, rows: TopicRows) -> Any:
        def refused(found: "RefusedRows") -> None:
            error = found.error
            if self._refused is None and error.code is not ErrorCode.OPERATION_NOT_ATTEMPTED:
                is_too_large = error.code in _TOO_LARGE
                said = f"{error.code.name}{f': {error.message}' if error.message else ''} ({error.of})"
                self._refused = refusal(rows, found.rows, said, error.step, is_too_large=is_too_large, task=self._task)

        return refused

    def _of_topic(self, rows: TopicRows, error: ClientError) -> TidelogError:
        number = self.count if rows.numbers is None else rows.numbers[0].as_py()
        return of_client(error, f"write {place(self._task, number, rows.topic)}")
