"""The driver's half of a write: it decides that the batch of the tasks is committed, and makes it visible (see
`two_phase`)."""

import logging
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pyspark_tidelog.errors import told
from pyspark_tidelog.kafka.first_contact import is_first_contact
from pyspark_tidelog.kafka.topic_ids import topic_ids
from pyspark_tidelog.sink import errors as sink_errors
from pyspark_tidelog.sink import two_phase
from pyspark_tidelog.sink.checkpoint import CheckpointBatch, batch_of, local_files, query_id_of
from pyspark_tidelog.sink.decisions import Batch, is_in_ledger
from pyspark_tidelog.sink.ledger import Ledger
from pyspark_tidelog.sink.options import Guarantee, SinkOptions
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from pyspark_tidelog.sink.transactions import QueryTransactions
from pyspark_tidelog.sink.two_phase import Step
from pyspark_tidelog.sink.write_task import Scope, Written
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.transaction_calls import offers_transactions

LOGGER: Final = logging.getLogger("pyspark_tidelog")
# Spark calls abort while tasks still run, and kills their workers two seconds after it has told them to end
# (spark.python.task.killTimeout): a second look finds the transactions that they begin meanwhile.
KILLED_AFTER_MS: Final = 2_500
# Nobody knows of an attempt that Spark gave up, and that wrote after the batch was committed. Its transaction is looked
# for once in so many batches, because read_committed readers wait for its end.
BATCHES_BETWEEN_SWEEPS: Final = 64


class Writer(NamedTuple):
    """The query and run that write, as far as the driver knows them without the tasks."""

    query_id: str
    run_id: str
    name: str = ""
    is_job: bool = False  # a batch job: it counts as a query of its own, and is never replayed


def finish_if_decided(options: SinkOptions, writer: Writer) -> bool:
    """Tell whether the batch that the options name is in the ledger. If so, finish its commit; SinkError where the
    decision in the ledger is of another batch with the same number."""
    batch_id = options.batch_id or 0
    ids = TransactionalIds(options.prefix, writer.query_id, writer.name)
    is_patient = not is_first_contact(batch_id)
    with options.cluster.connect(is_patient=is_patient) as client, told(f"look for batch {batch_id} of query {ids}"):
        last = Ledger(client, options.ledger_topic, ids).read(is_final=False)
    if not is_in_ledger(last, batch_id, options.take_over):
        return False
    scope = Scope(writer.query_id, writer.run_id, batch_id, 0, name=writer.name)
    skipped = Written(scope, Guarantee.EXACTLY_ONCE, is_skipped=True)
    SinkCommit(options, batch_id, [skipped], writer=writer).commit()
    return True


class SinkCommit:
    """The commit or abort of one batch. Spark calls it in a new process each time, so all that it knows comes with the
    messages of the tasks, or from the checkpoint."""

    killed_after_ms = KILLED_AFTER_MS

    def __init__(
        self, options: SinkOptions, batch_id: int, messages: Sequence[Written | None], *, writer: Writer | None = None
    ) -> None:
        """`writer`: who writes, where that is known without the tasks' messages."""
        self._options = options
        self._batch_id = batch_id
        self._has_unheard = any(each is None for each in messages)  # tasks that may still run
        self._written = [each for each in messages if each is not None and each.guarantee is Guarantee.EXACTLY_ONCE]
        self._is_other_guarantee = not self._written and any(each is not None for each in messages)
        if writer is None and self._written:
            scope = self._written[0].scope
            writer = Writer(scope.query_id, scope.run_id, scope.name)
        self._writer = writer

    def commit(self, *, forget: bool = False) -> None:
        """Commit the batch. `forget`: remove its record from the ledger, because nobody will ever replay this batch."""
        if self._written and self._writer is not None:  # else at-least-once, or a batch without tasks
            self._carry_out(self._writer, is_commit=True, forget=forget)

    def abort(self) -> None:
        """Abort the open transactions of the run. Spark's messages may all be None although tasks have written, and
        Spark does not wait for tasks that still run: so there is a second look. A transaction that both looks miss is
        aborted when the query is started again; after a batch job nothing is started again, and the transaction would
        hold up read_committed readers until it times out."""
        if self._is_other_guarantee or not self._may_be_transactional():
            return
        writer = self._writer or self._found_writer()
        if writer is None:
            return
        self._carry_out(writer, is_commit=False)
        if self._has_unheard:
            with self._options.cluster.connect() as client:
                client.pause(self.killed_after_ms)
            self._carry_out(writer, is_commit=False)

    def _may_be_transactional(self) -> bool:
        if self._written or self._options.guarantee is not None:
            return bool(self._written) or self._options.guarantee is Guarantee.EXACTLY_ONCE
        with self._options.cluster.connect() as client, told("abort the write"):
            return offers_transactions(client)

    def _found_writer(self) -> Writer | None:
        """Return who writes, where no task has told it: the query from the checkpoint, the run from the query's open
        transactions. None where they are of several runs: another driver writes then, and its next commit aborts those
        of other runs."""
        query_id = query_id_of(local_files(self._options.checkpoint))
        if not query_id:
            return None
        ids = TransactionalIds(self._options.prefix, query_id)
        with self._options.cluster.connect() as client, told(f"abort batch {self._batch_id} of query {ids}"):
            found = QueryTransactions(client, ids, self._options.ledger_topic).open_transactions()
        runs = {ids.run_of(each.transactional_id) or "" for each in found}
        if len(runs) > 1:
            LOGGER.warning("query %s has transactions of %d runs open: the next commit aborts them", ids, len(runs))
        return Writer(query_id, runs.pop()) if len(runs) == 1 else None

    def drive(self, steps: Iterable[Step]) -> None:
        """Carry out every step: a step is done when the next one is asked for. A test may stop between two steps."""
        for _ in steps:
            pass

    def _carry_out(self, writer: Writer, *, is_commit: bool, forget: bool = False) -> None:
        options = self._options
        ids = TransactionalIds(options.prefix, writer.query_id, writer.name)
        run = two_phase.commit if is_commit else two_phase.abort
        try:
            with options.cluster.connect(is_patient=is_commit) as client:  # before an abort no task may have connected
                world = QueryTransactions(client, ids, options.ledger_topic, may_be_former=not writer.is_job)
                self.drive(run(world, self._batch(client, writer)))
                if forget:
                    self._forget(world, ids)
        except sink_errors.FAILURES as error:
            raise sink_errors.told(error, options, ids, self._batch_id) from None
        except ClientError as error:
            raise sink_errors.of_commit(error, ids, self._batch_id) from None

    def _forget(self, world: QueryTransactions, ids: TransactionalIds) -> None:
        """Remove the job's record from the ledger. Failing to do so is only logged: everything is committed, and a job
        that failed would be run once more."""
        try:
            world.forget()
        except ClientError as error:
            LOGGER.warning("query %s is committed; its record stays in %s: %s", ids, self._options.ledger_topic, error)

    def _batch(self, client: Client, writer: Writer) -> Batch:
        written, options = self._written, self._options
        found = self._checkpoint(writer)
        written_ids: dict[str, str] = {}
        for each in written:
            written_ids |= each.topic_ids
        return Batch(
            self._batch_id,
            writer.run_id,
            tuple(each.transaction for each in written if each.transaction is not None),
            was_skipped=any(each.is_skipped for each in written),
            may_have_strays=self._may_have_strays,
            accepted_loss=options.accepted_loss,
            origin=found.origin,
            take_over=options.take_over,
            topic_ids=written_ids,
            source_ids=topic_ids(client, found.source_topics),
            former=found.former,
        )

    @property
    def _may_have_strays(self) -> bool:
        """Tell whether an attempt whose rows are not part of the batch may have left a transaction open. Spark numbers
        all attempts of a driver: a gap between those of this batch means that a task was tried again and may have
        written twice, or that another query ran, where the look for strays is in vain."""
        written = self._written
        if self._batch_id % BATCHES_BETWEEN_SWEEPS == 0 or any(e.is_repeated or e.is_two_phase for e in written):
            return True
        if any(each.scope.is_retry for each in written):
            return True
        attempts = [each.scope.task_attempt_id for each in written]
        return bool(attempts) and max(attempts) - min(attempts) + 1 != len(attempts)

    def _checkpoint(self, writer: Writer) -> CheckpointBatch:
        """Return what the checkpoint says of the batch. It goes into the ledger, where it tells a replay from another
        batch of the same number."""
        if writer.is_job:
            return CheckpointBatch()
        if self._options.origin is not None:
            return self._options.origin
        location = self._options.checkpoint or next((each.checkpoint for each in self._written if each.checkpoint), "")
        return batch_of(local_files(location), self._batch_id, writer.query_id)
