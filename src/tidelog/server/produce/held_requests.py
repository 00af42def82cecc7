"""Produce requests that wait for a transaction coordinator's word (`verification`) or for batches that take more than a
turn (`appending`), and the requests behind them.

What follows on the same connection must not overtake them: a producer's batches would be out of order, and Kafka, which
reads no further from a connection before it has answered, would not have let it. So while one is held, all further
produce requests of its connection queue up behind it. Their batches are copied, because the receive buffer is used
again after the turn, and count against what the connection may have open.

Most of the time nothing is held: batches are small; once a transaction is open in a log, its further batches need
nobody's word; and on one node the coordinator's word comes within the turn.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tidelog.config.settings import transactions as settings
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.hosting.partition import Partition
from tidelog.server.produce.appending import KeptRecords, ProduceAppending
from tidelog.server.requests.handler import RequestContext, SlicedContext, Steps, run_whole
from tidelog.server.transactions.verification import Asking, Producer, Refusals, ask_coordinator, asking_of_produce
from tidelog.storage.append.outcome import Refused
from tidelog.storage.producers.verification import VerificationGuard

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.requests.connection import ClientConnection

FIRST_BY_ID: Final = 13
# In a batch: the low byte of its attributes; producer id, producer epoch and base sequence.
_ATTRIBUTES_AT: Final = 22
_TRANSACTIONAL: Final = 0x10
_PRODUCER_AT: Final = 43
_PRODUCER: Final = Struct(">qhi")
_SMALLEST_BATCH: Final = 61

# Producers of before transaction version 2 do not retry these codes. They do retry NOT_ENOUGH_REPLICAS, and ask for no
# new metadata first.
_NOT_VERIFIED: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


@dataclass(slots=True)
class Verified:
    """What the verification found: which partitions refuse the append, and the guards to show to the others."""

    refusals: dict[TopicPartition, Refused] = field(default_factory=dict)
    guards: dict[TopicPartition, VerificationGuard] = field(default_factory=dict)


Append = Callable[["Broker", RequestContext, ProduceRequest, Verified], ProduceAppending]


class _Batch(NamedTuple):
    """A transactional batch, as its header describes it."""

    topic: TopicProduceData
    partition: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


def is_transactional(body: ProduceRequest) -> bool:
    return any(_is_transactional(data) for topic in body.topic_data for data in topic.partition_data)


def _is_transactional(data: PartitionProduceData) -> bool:
    records = data.records
    return records is not None and len(records) >= _SMALLEST_BATCH and records[_ATTRIBUTES_AT] & _TRANSACTIONAL != 0


def find_leader(
    broker: "Broker", version: int, topic: TopicProduceData, index: int
) -> tuple[TopicPartition, Partition | ErrorCode]:
    """Return the partition that a request names, by id or by name, or an error where this broker does not lead it."""
    if version >= FIRST_BY_ID:
        topic_partition = TopicPartition(broker.topic_name(topic.topic_id) or "", index)
        return topic_partition, broker.leader_of_id(topic.topic_id, index)
    topic_partition = TopicPartition(topic.name, index)
    return topic_partition, broker.leader_of(topic_partition)


def hold(broker: "Broker", context: RequestContext, body: ProduceRequest, append: Append) -> Steps[None]:
    """Append the request now, or when it is verified and everything before it on its connection is appended."""
    held = HeldProduce(broker, context, body, append)
    if context.connection not in broker.transactions.held:
        yield from held.begin_questions()
    queue = broker.transactions.held.get(context.connection)
    if queue is None and not held.verified.guards:
        appending = append(broker, context, body, held.verified)
        if not appending.go_on():
            hold_behind(broker, context.connection, appending)
        return
    if queue is None:
        queue = broker.transactions.held[context.connection] = HeldRequests(broker, context.connection)
    held.keep(queue)
    queue.go_on()


def hold_behind(broker: "Broker", connection: "ClientConnection", appending: ProduceAppending) -> None:
    """Make later produce requests of the connection wait for one that is not appended completely."""
    queue = broker.transactions.held[connection] = HeldRequests(broker, connection)
    queue.requests.append(AppendingProduce(appending))
    appending.when_done = queue.go_on


class Held(Protocol):
    """A request in the queue of a connection."""

    is_asked: bool  # nothing more has to be done for it to go on

    @property
    def is_done(self) -> bool: ...

    def ask(self) -> None: ...


class AppendingProduce:
    """A request that was not held when it arrived, and turned out to take more than its turn."""

    def __init__(self, appending: ProduceAppending) -> None:
        self._appending = appending
        self.is_asked = True

    @property
    def is_done(self) -> bool:
        return self._appending.is_done

    def ask(self) -> None:
        raise AssertionError("it is being appended")


class HeldRequests:
    """The queue of produce requests of one connection, in their order."""

    __slots__ = ("_broker", "_connection", "_is_going", "requests")

    def __init__(self, broker: "Broker", connection: "ClientConnection") -> None:
        self._broker = broker
        self._connection = connection
        self._is_going = False
        self.requests: deque[Held] = deque()
        connection.produce_path = None  # the quick way would lead past us

    def go_on(self) -> None:
        """Verify and append requests from the front of the queue, until one has to wait."""
        if self._is_going:
            return  # called by an answer that came while the loop below runs
        self._is_going = True
        while self.requests:
            first = self.requests[0]
            if not first.is_asked:
                first.ask()
            if not first.is_done:
                break
            self.requests.popleft()
        self._is_going = False
        if not self.requests:
            self._broker.transactions.held.pop(self._connection, None)


class HeldProduce:
    """One held request. It lies in the purgatory while the transaction before it is still completing."""

    def __init__(self, broker: "Broker", context: RequestContext, body: ProduceRequest, append: Append) -> None:
        self._broker = broker
        self._context = context
        self._body = body
        self._append = append
        self._asking = asking_of_produce(context.api_version)
        batches = list(_transactional_batches(body))
        self._producer = _producer_of(body, batches)
        self._batches = [each for each in batches if each.producer_id >= 0]
        self._queue: HeldRequests | None = None
        self._kept = KeptRecords(context.connection)
        self._give_up_ms = 0
        self._has_begun = False  # the questions are still up to date
        self.verified = Verified()
        self.is_asked = False
        self.is_done = False

    def keep(self, queue: HeldRequests) -> None:
        """Queue the request beyond this turn, with a copy of its batches."""
        if not isinstance(self._context, SlicedContext):  # which has the receive buffer for itself
            self._kept.keep([data for topic in self._body.topic_data for data in topic.partition_data])
        self._queue = queue
        queue.requests.append(self)

    def begin_questions(self) -> Steps[None]:
        """Begin the verification of each partition that has no open transaction of the producer. These have a guard
        then, and the coordinator is to be asked about them."""
        broker, asking, producer = self._broker, self._asking, self._producer
        self.verified = Verified()
        self._has_begun = True
        is_enabled = asking.adds or broker.config.get(settings.TRANSACTION_PARTITION_VERIFICATION_ENABLE)
        if producer is None or not is_enabled:
            return
        for batch in self._batches:
            topic_partition, found = find_leader(broker, self._context.api_version, batch.topic, batch.partition)
            if isinstance(found, ErrorCode):
                continue  # the append says so
            begun = found.log.producers.start_verification(
                broker.turn.wall_ms,
                producer.producer_id,
                producer.producer_epoch,
                batch.base_sequence,
                supports_epoch_bump=asking.adds,
            )
            if isinstance(begun, Refused):
                self.verified.refusals[topic_partition] = begun
            elif begun is not None:
                self.verified.guards[topic_partition] = begun
            yield

    def ask(self) -> None:
        """Ask the coordinator. A bug costs this request alone, whoever's turn it is: the queue goes on."""
        try:
            self._ask()
        except Exception as error:  # noqa: BLE001 - as in `dispatch`: a bug costs one request, not the node
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.is_done = True
        self._kept.release()
        self._broker.dispatch.fail(self._context, self._body, error)

    def _ask(self) -> None:
        broker, config = self._broker, self._broker.config
        if not self.is_asked:
            self.is_asked = True
            retry_ms = config.get(settings.ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS)
            self._give_up_ms = broker.turn.monotonic_ms + retry_ms
        if not self._has_begun:
            run_whole(self.begin_questions())
        self._has_begun = False  # for the next time
        if not self.verified.guards:
            self._finish({})
            return
        assert self._producer is not None
        ask_coordinator(broker, self._producer, self.verified.guards, self._asking, self._answered)

    def _answered(self, refusals: Refusals) -> None:
        """Append, or ask again after a pause. A producer of transaction version 2 goes on as soon as its last
        transaction is decided, when the markers of that may still be under way: waiting here spares it the error and a
        resend."""
        now_ms = self._broker.turn.monotonic_ms
        is_early = self._asking.adds and ErrorCode.CONCURRENT_TRANSACTIONS in refusals.values()
        if is_early and now_ms < self._give_up_ms:
            pause_ms = self._broker.config.get(settings.ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS)
            self._broker.purgatory.add(self, now_ms + pause_ms)
            return
        self._finish(refusals)
        if self._queue is not None:
            self._queue.go_on()

    def _finish(self, refusals: Refusals) -> None:
        self.verified.refusals.update(
            {topic_partition: _refusal(code, self._asking) for topic_partition, code in refusals.items()}
        )
        appending = self._append(self._broker, self._context, self._body, self.verified)
        appending.kept = self._kept
        appending.when_done = self._appended
        self.is_done = appending.go_on()

    def _appended(self) -> None:
        """Go on with the queue, when the last batch was appended in a later turn."""
        self.is_done = True
        if self._queue is not None:
            self._queue.go_on()

    # The purgatory's

    def is_abandoned(self) -> bool:
        return False

    def expire(self) -> None:
        self.ask()
        if self._queue is not None:
            self._queue.go_on()


def _transactional_batches(body: ProduceRequest) -> Iterator[_Batch]:
    for topic in body.topic_data:
        for data in topic.partition_data:
            if data.records is not None and _is_transactional(data):
                yield _Batch(topic, data.index, *_PRODUCER.unpack_from(data.records, _PRODUCER_AT))


def _producer_of(body: ProduceRequest, batches: list[_Batch]) -> Producer | None:
    """Return the producer of all transactional batches: a request is part of one transaction. (Where the transactional
    id is missing, Kafka answers with the code for one that may not be used.)"""
    if batches and body.transactional_id is None:
        text = "transactional batches in a request without a transactional id"
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, text)
    known = list(dict.fromkeys((each.producer_id, each.producer_epoch) for each in batches if each.producer_id >= 0))
    if len(known) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "transactional batches of more than one producer")
    if not known:
        return None
    assert body.transactional_id is not None
    return Producer(body.transactional_id, *known[0])


def _refusal(code: ErrorCode, asking: Asking) -> Refused:
    """Return what the producer is told where the coordinator refused with `code`."""
    if code is ErrorCode.INVALID_TXN_STATE:
        return Refused(code, "the partition is not part of the producer's transaction")
    is_hidden = code is ErrorCode.CONCURRENT_TRANSACTIONS and not asking.adds
    if code in _NOT_VERIFIED or is_hidden:
        return Refused(ErrorCode.NOT_ENOUGH_REPLICAS, f"the transaction could not be verified: {code.name}")
    return Refused(code, "")
