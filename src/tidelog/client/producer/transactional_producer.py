"""A producer whose records, over several partitions, become visible together or not at all.

    with TransactionalProducer(client, "orders-1") as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send("invoices", invoice)
            producer.send_offsets_to_transaction({partition: record.offset + 1}, consumer.group_metadata)

A transactional id belongs to one producer at a time: `init_transactions` fences whoever had it, and ends what that one
left open. So a process that comes back after a crash begins with a clean table.

A transaction need not be ended where it was begun: `hand_over_transaction` leaves it open, and whoever gets what it
returns ends it with `Admin.end_transaction`, within the transaction's timeout.
"""

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from tidelog.client.admin.group_offsets import Offsets
from tidelog.client.client import WAIT_MS_MAX, Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.producer import Producer
from tidelog.client.producer.transaction import ProducerTransaction, TransactionHandle, TransactionStage
from tidelog.client.producer.transaction_calls import GroupMetadata
from tidelog.model.errors import ErrorCode

TRANSACTION_TIMEOUT_MS = 60_000


class TransactionalProducer(Producer):
    def __init__(
        self,
        client: Client,
        transactional_id: str,
        *,
        transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
        two_phase: bool = False,
        **options: Any,
    ) -> None:
        """Prepare a producer; call `init_transactions` next. The coordinator aborts a transaction that is open for
        longer than `transaction_timeout_ms`. With `two_phase` it never does, where the cluster has that (KIP-939) and
        allows it: see `is_two_phase`. The other options are those of a Producer."""
        if not transactional_id:
            raise ValueError("a transactional id has at least one character")
        self._open = ProducerTransaction(client, transactional_id, transaction_timeout_ms, two_phase=two_phase)
        super().__init__(client, transaction=self._open, **options)

    @property
    def transaction_state(self) -> TransactionHandle:
        """The transactional id with the producer id and epoch that are in use."""
        return self._open.handle

    @property
    def is_two_phase(self) -> bool:
        """Tell whether transactions stay open until somebody ends them; known after `init_transactions`."""
        return self._open.is_two_phase

    @property
    def in_transaction(self) -> bool:
        return self._open.state in (TransactionStage.OPEN, TransactionStage.FAILED)

    def init_transactions(self) -> None:
        """Take over the transactional id. To be called once, before anything else."""
        self._open.initialize()

    def begin_transaction(self) -> None:
        self._open.begin()
        for line in self._lines.values():
            line.begin_transaction(self._open.identity)

    def send_offsets_to_transaction(self, offsets: Offsets, group: GroupMetadata) -> None:
        """Commit how far a consumer has read as part of the transaction. `offsets` are those of the next records to
        read."""
        self._open.send_offsets(offsets, group)

    def commit_transaction(self) -> None:
        """Write everything, and make it visible. After DeliveryFailed or another ClientError it is not committed, as
        far as is known, and has to be aborted."""
        self._open.require_open()
        self.flush()
        self._open.end(commit=True)

    def abort_transaction(self) -> None:
        """Abort: records that were written are never seen, those that wait to be sent are given up."""
        error = ClientError(
            ErrorCode.OPERATION_NOT_ATTEMPTED, "produce", self.client.name, "the transaction is aborted"
        )
        self._close_all()
        while any(line.in_flight for line in self._busy):
            self.client.poll(WAIT_MS_MAX)
        for line in self._busy:
            for batch in line.drop():
                self._failed(line, batch, error)
        self._busy.clear()
        self._failures.clear()
        self._open.end(commit=False)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as a transaction: committed at its end, aborted when an exception ends it or the commit fails."""
        self.begin_transaction()
        try:
            yield
            self.commit_transaction()
        except BaseException:
            if self.in_transaction:
                with contextlib.suppress(ClientError):  # the first error is raised; the timeout aborts anyway
                    self.abort_transaction()
            raise

    def hand_over_transaction(self) -> TransactionHandle:
        """Write everything, and return what it takes to end the transaction. This producer is done with it, and begins
        anew with `init_transactions` (which would abort it, if it is open by then)."""
        self._open.require_open()
        self.flush()
        return self._open.hand_over()

    def close(self) -> None:
        """Abort a transaction that is open, and flush. The client stays open."""
        if self.in_transaction:
            self.abort_transaction()
        super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.in_transaction:
            with contextlib.suppress(ClientError):  # the error that brought us here is the one to be told
                self.abort_transaction()
        super().__exit__(kind, error, trace)
