"""The `World` of `two_phase` in a real cluster: the ledger topic, and the coordinators of a query's transactions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pyspark_tidelog.kafka.topic_ids import topic_ids
from pyspark_tidelog.sink.decisions import Decision, Transaction, made_anew, short_run
from pyspark_tidelog.sink.ledger import Ledger
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from pyspark_tidelog.sink.two_phase import Standing
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.transactions import TransactionDescription
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, UnsupportedByBroker
from tidelog.client.producer.transaction_calls import end_together
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import ErrorCode

OPEN: Final = "Ongoing"
COMMITTED: Final = ("PrepareCommit", "CompleteCommit")  # a prepared commit is final: its markers are being written
FENCED_SOON: Final = "PrepareEpochFence"  # still open, while another producer is initializing the id
PAUSE_MS: Final = 100
MISSING_TOPIC_PATIENCE_MS: Final = 2_000

_NOT_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)

# Errors that say that a transaction has ended already; its coordinator is then asked whether it was committed.
_ENDED: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)


class QueryTransactions:
    def __init__(self, client: Client, ids: TransactionalIds, ledger_topic: str, *, may_be_former: bool = True) -> None:
        """`may_be_former`: as of `Ledger`."""
        self._admin = Admin(client)
        self._ids = ids
        self._ledger = Ledger(client, ledger_topic, ids, may_be_former=may_be_former)

    def fence(self) -> None:
        self._ledger.fence()

    def last_decision(self) -> Decision | None:
        return self._ledger.read(is_final=True)

    def check_ledger(self) -> None:
        self._ledger.check()

    def record(self, decision: Decision) -> None:
        self._ledger.record(decision)

    def forget(self) -> None:
        self._ledger.forget()

    def standings(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        listed = list(transactions)
        found = self._admin.describe_transactions(each.transactional_id for each in listed)
        return {each: _standing(each, found[each.transactional_id]) for each in listed}

    def commit(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        listed = list(transactions)
        ended_before = self._end(listed, commit=True)
        standings = dict.fromkeys(listed, Standing.COMMITTED)
        standings.update(self.standings(ended_before))
        return standings

    def abort(self, transactions: Iterable[Transaction]) -> None:
        self._end(list(transactions), commit=False)

    def open_transactions(self, run_id: str | None = None) -> list[Transaction]:
        """Return the open transactions of the query, of one run or of all. An old broker knows no pattern: then all
        open transactions of the cluster are listed, and chosen here."""
        try:
            found = self._admin.list_transactions([OPEN], pattern=self._ids.pattern)
        except UnsupportedByBroker:
            found = self._admin.list_transactions([OPEN])
        runs = {each.transactional_id: self._ids.run_of(each.transactional_id) for each in found}
        names = [name for name, run in runs.items() if run is not None and (run_id is None or run == short_run(run_id))]
        described = self._admin.describe_transactions(names).values()
        return [
            Transaction(each.transactional_id, each.producer_id, each.producer_epoch)
            for each in described
            if not isinstance(each, ClientError) and each.state == OPEN
        ]

    def gone(self, topic_ids_before: Mapping[str, str]) -> list[str]:
        """Return the topics that are not there any more under these ids. A missing topic is waited for a little: a
        broker that has just started does not know every topic yet."""
        client = self._admin.client
        give_up_ms = client.now_ms() + MISSING_TOPIC_PATIENCE_MS
        while True:
            now = topic_ids(client, topic_ids_before)
            anew = made_anew(topic_ids_before, now)
            errors = client.metadata.errors
            missing = [topic for topic in topic_ids_before if errors.get(topic) in _NOT_THERE]
            if not missing or client.now_ms() >= give_up_ms:
                return sorted({*anew, *missing})
            client.pause(PAUSE_MS)

    def _end(self, listed: Sequence[Transaction], *, commit: bool) -> list[Transaction]:
        """Commit or abort the transactions; return those that had ended before, whether committed or aborted."""
        identities = {
            each.transactional_id: ProducerIdAndEpoch(each.producer_id, each.producer_epoch) for each in listed
        }
        ended = end_together(self._admin.client, self._admin.transactions, identities, commit=commit)
        left = [each for each in listed if each.transactional_id not in ended]
        return [each for each in left if not self._end_one(each, commit=commit)]

    def _end_one(self, each: Transaction, *, commit: bool) -> bool:
        """End a transaction, with the client's retries; return False where it had ended before."""
        try:
            self._admin.end_transaction(*each, commit=commit)
        except ClientError as error:
            if error.code not in _ENDED:
                raise
            return False
        return True


def is_in_use(admin: Admin, transactional_id: str) -> bool:
    """Tell whether the id has an open transaction, which would be aborted if the id were initialized."""
    found = admin.describe_transactions([transactional_id])[transactional_id]
    if not isinstance(found, ClientError):
        return found.state in (OPEN, FENCED_SOON)
    if found.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise found
    return False


def _standing(each: Transaction, found: TransactionDescription | ClientError) -> Standing:
    if isinstance(found, ClientError):
        if found.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return Standing.FORGOTTEN
        raise found
    if found.state in COMMITTED:
        return Standing.COMMITTED
    is_same = (found.producer_id, found.producer_epoch) == (each.producer_id, each.producer_epoch)
    return Standing.OPEN if found.state == OPEN and is_same else Standing.ABORTED
