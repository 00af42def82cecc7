"""The driver's half of a write: the batch of the tasks is decided, and becomes visible (see `two_phase`)."""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark_tidelog import two_phase
from pyspark_tidelog.errors import SinkError, TidelogError, of_client, told
from pyspark_tidelog.ledger import Ledger
from pyspark_tidelog.sink_options import Guarantee, SinkOptions
from pyspark_tidelog.transactions import QueryTransactions, TransactionalIds
from pyspark_tidelog.two_phase import Batch, LedgerLost, Lost, NotOpen, Step
from pyspark_tidelog.write_task import Scope, Written, clean_id
from tidelog.client.errors import ClientError
from tidelog.client.transaction_calls import offers_transactions
from tidelog.model.errors import ErrorCode

_REPLACED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


def finish_if_decided(options: SinkOptions) -> bool:
    """Whether the batch that the options name is in the ledger. What its commit left undone is done then."""
    query_id, batch_id = clean_id(options.query_id or ""), options.batch_id or 0
    with options.cluster.connect() as client, told(f"look for batch {batch_id} of query {query_id}"):
        ids = TransactionalIds(options.prefix, query_id)
        last = Ledger(client, options.ledger_topic, query_id, ids.driver).read(is_final=False)
    if last is None or last.batch_id < batch_id:
        return False
    scope = Scope(query_id, "", batch_id, 0, "")
    SinkCommit(options, batch_id, [Written(scope, Guarantee.EXACTLY_ONCE, is_skipped=True)]).commit()
    return True


class SinkCommit:
    """Of one batch. Spark calls it in a process of its own each time, so all that is known comes with the messages."""

    def __init__(
        self, options: SinkOptions, batch_id: int, messages: Sequence[Written | None], *, job_id: str | None = None
    ) -> None:
        """`job_id`: of a batch job, which is a query of its own."""
        self._options = options
        self._job_id = job_id
        self._batch_id = batch_id
        self._written = [each for each in messages if each is not None and each.guarantee is Guarantee.EXACTLY_ONCE]

    def commit(self, *, forget: bool = False) -> None:
        """`forget`: nobody will ever ask for this batch again."""
        self._carry_out(is_commit=True, forget=forget)

    def abort(self) -> None:
        """Spark's messages may all be None, though tasks have written: those are strays. Of a stream the next run
        aborts them; after a job nobody comes, and they would hold up read_committed readers until they time out."""
        if self._written or (self._job_id is not None and self._may_be_transactional()):
            self._carry_out(is_commit=False, forget=False)

    def _may_be_transactional(self) -> bool:
        if self._options.guarantee is not None:
            return self._options.guarantee is Guarantee.EXACTLY_ONCE
        with self._options.cluster.connect() as client, told("abort the write"):
            return offers_transactions(client)

    def drive(self, steps: Iterable[Step]) -> None:
        """Each step is done when the next is asked for."""
        for _ in steps:
            pass

    def _carry_out(self, *, is_commit: bool, forget: bool) -> None:
        if not self._written and is_commit:
            return  # at-least-once, or a batch without tasks: there is nothing to end
        options, query_id = self._options, self._job_id or self._written[0].scope.query_id
        ids = TransactionalIds(options.prefix, query_id)
        run = two_phase.commit if is_commit else two_phase.abort
        try:
            with options.cluster.connect() as client:
                world = QueryTransactions(client, ids, options.ledger_topic)
                self.drive(run(world, self._batch()))
                if forget:
                    world.forget()
        except (NotOpen, Lost, LedgerLost) as error:
            raise self._told(error, query_id) from None
        except ClientError as error:
            raise self._of_client(error, query_id) from None

    def _batch(self) -> Batch:
        written = self._written
        return Batch(
            self._batch_id,
            written[0].scope.run_id if written else "",
            tuple(each.transaction for each in written if each.transaction is not None),
            was_skipped=any(each.is_skipped for each in written),
            may_have_strays=any(each.scope.attempt or each.is_two_phase for each in written),
            accepted_loss=self._options.accepted_loss,
            is_job=self._job_id is not None,
        )

    def _of_client(self, error: ClientError, query_id: str) -> TidelogError:
        doing = f"commit batch {self._batch_id} of query {query_id}"
        if error.code in _REPLACED:
            what = f"{doing}: another driver of this query has taken over"
            return SinkError(what, str(error), "see that the query runs only once for its checkpoint; this one stops")
        return of_client(error, doing)

    def _told(self, error: NotOpen | Lost | LedgerLost, query_id: str) -> SinkError:
        if isinstance(error, NotOpen):
            return self._not_open(error, query_id)
        if isinstance(error, Lost):
            return self._lost(error, query_id)
        what = f"batch {self._batch_id} of query {query_id}: the ledger does not know it any more"
        step = "was the topic deleted, or a broker's data? Look what of the batch is in the output before you go on"
        return SinkError(what, f"topic {self._options.ledger_topic}", step)

    def _not_open(self, error: NotOpen, query_id: str) -> SinkError:
        ids = ", ".join(each.transactional_id for each in error.transactions)
        what = (
            f"batch {self._batch_id} of query {query_id} is not committed, and nothing of it is visible: "
            f"{len(error.transactions)} of its transactions ended before"
        )
        timeout_ms = self._options.producer.transaction_timeout_ms
        step = (
            "start the query again, and it writes the batch anew; if its tasks take longer than "
            f"kafka.transaction.timeout.ms ({timeout_ms}), raise that, and transaction.max.timeout.ms of the brokers"
        )
        return SinkError(what, ids, step)

    def _lost(self, error: Lost, query_id: str) -> SinkError:
        decision = error.decision
        ids = ", ".join(each.transactional_id for each in error.transactions)
        what = (
            f"batch {decision.batch_id} of query {query_id} is incomplete: it was decided to commit it, but "
            f"{len(error.transactions)} of its {len(decision.transactions)} transactions are not committed: they "
            "timed out, or somebody ended them. The rows of those are not visible, the rows of the others are"
        )
        step = (
            f"write what is missing from elsewhere, or do without it, and set acceptLostBatch to {decision.batch_id}; "
            "raise kafka.transaction.timeout.ms so that a restart of the driver fits in"
        )
        return SinkError(what, ids, step)
