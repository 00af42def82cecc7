"""The transaction of a producer: where it stands, and what its coordinator has to be told.

    uninitialized -> ready <-> open -> failed -> (abort) ready
                       ^          |        \\-> fenced, for good
                       +- ended <-+

Once a write of the transaction was given up, the transaction can only be aborted: `commit` would make part of it
visible. A producer that is fenced has been replaced by another one of the same transactional id.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from tidelog.client.admin.group_offsets import Offsets
from tidelog.client.client import Client
from tidelog.client.coordinators import CoordinatorClient, CoordinatorType
from tidelog.client.errors import ClientError, TransactionFailed
from tidelog.client.producer.transaction_calls import (
    OLD_PRODUCE,
    GroupMetadata,
    add_offsets,
    add_partitions,
    commit_in_transaction,
    end_transaction,
    init_producer_id,
    speaks_protocol_2,
)
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition

_FENCED: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
# The answers of a coordinator that does not know two-phase commits, or does not allow them.
_NO_TWO_PHASE: Final = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


class TransactionStage(Enum):
    UNINITIALIZED = "not initialized"
    READY = "ready"
    OPEN = "open"
    FAILED = "failed"
    FENCED = "fenced"


class TransactionHandle(NamedTuple):
    """A transaction as its producer hands it over: whoever has this, in any process, can end it
    (`Admin.end_transaction`)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class ProducerTransaction:
    def __init__(self, client: Client, transactional_id: str, timeout_ms: int, *, two_phase: bool = False) -> None:
        self.transactional_id = transactional_id
        self.is_two_phase = two_phase  # becomes False where the coordinator refuses it
        self.state = TransactionStage.UNINITIALIZED
        self.identity: ProducerIdAndEpoch | None = None
        self.is_protocol_2 = True
        self.needs_new_epoch = False  # a batch may yet arrive, or a sequence is missing
        self._client = client
        self._timeout_ms = timeout_ms
        self._transactions = CoordinatorClient(client, CoordinatorType.TRANSACTION)
        self._groups = CoordinatorClient(client, CoordinatorType.GROUP)
        self._failure: ClientError | None = None
        self._partitions: dict[TopicPartition, None] = {}  # those that are in the transaction
        self._has_offsets = False

    @property
    def produce_version_max(self) -> int | None:
        return None if self.is_protocol_2 else OLD_PRODUCE

    @property
    def handle(self) -> TransactionHandle:
        if self.identity is None:
            raise self._wrong("init_transactions first")
        return TransactionHandle(self.transactional_id, *self.identity)

    def get(self, _now_ms: int, _used_up: int) -> ProducerIdAndEpoch | None:
        """Return the producer id and epoch of every batch of the transaction, as `producer_ids.SharedProducerId` does
        without one."""
        return self.identity

    def initialize(self) -> None:
        """Fence whoever had the transactional id before, and end what it left open."""
        if self.state is not TransactionStage.UNINITIALIZED:
            raise self._wrong("it is initialized once")
        self.identity = self._initialized()
        self.is_protocol_2 = speaks_protocol_2(self._client)
        self.state = TransactionStage.READY

    def _initialized(self) -> ProducerIdAndEpoch:
        client, name = self._client, self.transactional_id
        if self.is_two_phase:
            try:
                return init_producer_id(client, self._transactions, name, self._timeout_ms, two_phase=True)
            except ClientError as error:
                if error.code not in _NO_TWO_PHASE:
                    raise
                self.is_two_phase = False
        return init_producer_id(client, self._transactions, name, self._timeout_ms)

    def begin(self) -> None:
        if self.state is not TransactionStage.READY:
            raise self._wrong("begin after init_transactions, commit or abort")
        self.state = TransactionStage.OPEN
        self._failure, self._partitions, self._has_offsets = None, {}, False

    def require_open(self) -> None:
        if self.state is not TransactionStage.OPEN:
            raise self._wrong("begin_transaction first" if self.state is TransactionStage.READY else "")

    def enter(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to the transaction before the first batch for them is sent. (With protocol 2 the write does
        it.)"""
        fresh = [each for each in partitions if each not in self._partitions]
        if not fresh:
            return
        assert self.identity is not None, "nothing is written before begin"
        if not self.is_protocol_2:
            try:
                add_partitions(self._client, self._transactions, self.transactional_id, self.identity, fresh)
            except ClientError as error:
                self.failed(error)
                raise
        self._partitions.update(dict.fromkeys(fresh))

    def send_offsets(self, offsets: Offsets, group: GroupMetadata) -> None:
        self.require_open()
        if not offsets:
            return  # the coordinator would not hear of it, so there would be nothing to end
        assert self.identity is not None, "it is open"
        client, name = self._client, self.transactional_id
        self._has_offsets = True
        try:
            if not self.is_protocol_2:
                add_offsets(client, self._transactions, name, self.identity, group.group_id)
            commit_in_transaction(
                client, self._groups, name, self.identity, offsets, group, is_protocol_2=self.is_protocol_2
            )
        except ClientError as error:
            self.failed(error)
            raise

    def failed(self, error: ClientError) -> None:
        """Note that the transaction can only be aborted; if another producer has taken over, not even that."""
        if self.state is TransactionStage.OPEN:
            is_final = error.code is ErrorCode.PRODUCER_FENCED
            self.state, self._failure = (
                TransactionStage.FENCED if is_final else TransactionStage.FAILED,
                error,
            )

    def end(self, *, commit: bool) -> None:
        """Commit or abort. The caller sees to it that every batch has been acknowledged or given up by now."""
        if commit:
            self.require_open()
        elif self.state not in (TransactionStage.OPEN, TransactionStage.FAILED):
            raise self._wrong("none is open")
        assert self.identity is not None, "it was begun"
        try:
            # Of an empty transaction the coordinator has never heard.
            if self._partitions or self._has_offsets:
                self.identity = end_transaction(
                    self._client,
                    self._transactions,
                    self.transactional_id,
                    self.identity,
                    commit=commit,
                    is_protocol_2=self.is_protocol_2,
                )
            if self.needs_new_epoch and not self.is_protocol_2:
                self.identity = self._next_epoch(self.identity)
        except ClientError as error:
            self.state = TransactionStage.FENCED if error.code in _FENCED else TransactionStage.FAILED
            self._failure = error
            raise
        self.state, self.needs_new_epoch = TransactionStage.READY, False

    def _next_epoch(self, former: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
        """Ask for the next epoch, which protocol 1 does not give with each end: a batch that is still on its way must
        not be taken for one of the next transaction."""
        client, name = self._client, self.transactional_id
        return init_producer_id(client, self._transactions, name, self._timeout_ms, former, two_phase=self.is_two_phase)

    def hand_over(self) -> TransactionHandle:
        self.require_open()
        handle = self.handle
        self.state, self.identity = TransactionStage.UNINITIALIZED, None
        return handle

    def _wrong(self, step: str) -> TransactionFailed:
        why = f"the transaction is {self.state.value}"
        if self._failure is not None and self.state in (
            TransactionStage.FAILED,
            TransactionStage.FENCED,
        ):
            why += f": {self._failure}"
            step = (
                "abort_transaction, then begin again"
                if self.state is TransactionStage.FAILED
                else "close this producer"
            )
        code = ErrorCode.INVALID_TXN_STATE if self._failure is None else self._failure.code
        return TransactionFailed(code, f"use transactional id {self.transactional_id}", self._client.name, why, step)
