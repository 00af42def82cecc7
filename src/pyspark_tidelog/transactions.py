"""The world of `two_phase`: the ledger topic, and the coordinators that know the transactions of a query."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pyspark_tidelog.ledger import Ledger
from pyspark_tidelog.two_phase import Decision, Standing, Transaction
from tidelog.client.admin import Admin
from tidelog.client.admin_transactions import TransactionDescription
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, UnsupportedByBroker
from tidelog.client.identity import Identity
from tidelog.client.transaction_calls import end_together
from tidelog.model.errors import ErrorCode

OPEN: Final = "Ongoing"
COMMITTED: Final = ("PrepareCommit", "CompleteCommit")  # prepared is decided: its markers are being written
DRIVER: Final = "driver"
RUN_CHARACTERS: Final = 12  # of its id, which is random

# That a transaction was ended before, or by somebody else: how, its coordinator is asked then.
_ENDED: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)


class TransactionalIds(NamedTuple):
    """Of one query. The form is a promise between versions: a restarted query looks for what the last run left."""

    prefix: str
    query_id: str

    @property
    def driver(self) -> str:
        return f"{self._start}{DRIVER}"

    def task(self, run_id: str, batch_id: int, partition: int, attempt: str) -> str:
        """Even and odd batches take turns (see `two_phase`). `attempt`: "" for the first, so that a run needs no more
        ids than twice its tasks."""
        run = run_id.replace("-", "")[:RUN_CHARACTERS]
        return f"{self._start}{run}-{batch_id % 2}-{partition}{'-' if attempt else ''}{attempt}"

    @property
    def pattern(self) -> str:
        return f"^{re.escape(self._start)}.*"

    def is_of_a_task(self, transactional_id: str) -> bool:
        return transactional_id.startswith(self._start) and transactional_id != self.driver

    @property
    def _start(self) -> str:
        return f"{self.prefix}-{self.query_id}-"


class QueryTransactions:
    def __init__(self, client: Client, ids: TransactionalIds, ledger_topic: str) -> None:
        self._admin = Admin(client)
        self._ids = ids
        self._ledger = Ledger(client, ledger_topic, ids.query_id, ids.driver)

    def fence(self) -> None:
        self._ledger.fence()

    def last_decision(self) -> Decision | None:
        return self._ledger.read(is_final=True)

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

    def open_transactions(self) -> list[Transaction]:
        """An old broker takes no pattern: then all that are open are looked at here."""
        try:
            found = self._admin.list_transactions([OPEN], pattern=self._ids.pattern)
        except UnsupportedByBroker:
            found = self._admin.list_transactions([OPEN])
        names = [each.transactional_id for each in found if self._ids.is_of_a_task(each.transactional_id)]
        described = self._admin.describe_transactions(names).values()
        return [
            Transaction(each.transactional_id, each.producer_id, each.producer_epoch)
            for each in described
            if not isinstance(each, ClientError) and each.state == OPEN
        ]

    def _end(self, listed: Sequence[Transaction], *, commit: bool) -> list[Transaction]:
        """Those that had ended already, one way or the other."""
        identities = {each.transactional_id: Identity(each.producer_id, each.producer_epoch) for each in listed}
        ended = end_together(self._admin.client, self._admin.transactions, identities, commit=commit)
        left = [each for each in listed if each.transactional_id not in ended]
        return [each for each in left if not self._end_one(each, commit=commit)]

    def _end_one(self, each: Transaction, *, commit: bool) -> bool:
        """Tried again as long as that helps. False: it has ended already."""
        try:
            self._admin.end_transaction(*each, commit=commit)
        except ClientError as error:
            if error.code not in _ENDED:
                raise
            return False
        return True


def _standing(each: Transaction, found: TransactionDescription | ClientError) -> Standing:
    if isinstance(found, ClientError):
        if found.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return Standing.FORGOTTEN
        raise found
    if found.state in COMMITTED:
        return Standing.COMMITTED
    is_same = (found.producer_id, found.producer_epoch) == (each.producer_id, each.producer_epoch)
    return Standing.OPEN if found.state == OPEN and is_same else Standing.ABORTED
