"""Fetches ahead of the caller: one request in flight for each leader, for all partitions that have room.

While the caller works on what it has, the broker already sends what comes next. A request that has to leave out
partitions whose buffers are full waits only shortly at the broker, so that they are not forgotten behind a long poll
of the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from tidelog.client.client import FETCHING, Client
from tidelog.client.errors import ClientError, OffsetOutOfRange, error_code
from tidelog.client.fetch.assigned import AssignedPartition
from tidelog.client.fetch.fetch_session_handler import FetchPosition, FetchSessionHandler
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from tidelog.records.aborted import AbortedFilter, AbortedTransaction

HURRIED_WAIT_MS: Final = 20
RETRY_PAUSE_MS: Final = 100
GONE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID)
TOPIC_GONE_PATIENCE_MS: Final = 5_000


@dataclass(slots=True)
class FetchOptions:
    read_committed: bool = False
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50 << 20
    partition_bytes: int = 1 << 20


class Fetcher:
    def __init__(
        self,
        client: Client,
        options: FetchOptions,
        assigned: dict[TopicPartition, AssignedPartition],
        on_out_of_range: Callable[[AssignedPartition, OffsetOutOfRange], None],
    ) -> None:
        self._client = client
        self._options = options
        self._assigned = assigned
        self._on_out_of_range = on_out_of_range
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._in_flight: dict[int, None] = {}  # leaders that owe a response

    def send(self, now_ms: int) -> None:
        """Ask every leader that has no request of ours in flight, for the partitions that have room."""
        by_leader: dict[int, dict[TopicPartition, FetchPosition]] = {}
        hurried: dict[int, None] = {}
        for topic_partition, state in self._assigned.items():
            leader = self._client.metadata.leader(topic_partition)
            if leader is None:
                self._client.refresh_soon()
            elif state.is_full:
                hurried[leader] = None
            elif leader not in self._in_flight and state.wants_data(now_ms):
                by_leader.setdefault(leader, {})[topic_partition] = self._fetch_position(state)
        for leader, wanted in by_leader.items():
            self._send(leader, wanted, is_hurried=leader in hurried)

    def _fetch_position(self, state: AssignedPartition) -> FetchPosition:
        known = self._client.metadata.partition(state.topic_partition)
        epoch = -1 if known is None else known.leader_epoch
        return FetchPosition(state.topic_id, state.fetch_offset, epoch)

    def _send(self, leader: int, wanted: dict[TopicPartition, FetchPosition], *, is_hurried: bool) -> None:
        options = self._options
        session = self._sessions.setdefault(leader, FetchSessionHandler())
        request = session.request(wanted, options.partition_bytes)
        request.max_wait_ms = min(options.max_wait_ms, HURRIED_WAIT_MS) if is_hurried else options.max_wait_ms
        request.min_bytes, request.max_bytes = options.min_bytes, options.max_bytes
        request.isolation_level = int(options.read_committed)
        self._in_flight[leader] = None
        timeout_ms = self._client.request_timeout_ms + options.max_wait_ms
        on_done = partial(self._done, leader, session, wanted)
        self._client.send(leader, request, on_done, lane=FETCHING, timeout_ms=timeout_ms)

    def _done(
        self,
        leader: int,
        session: FetchSessionHandler,
        wanted: dict[TopicPartition, FetchPosition],
        outcome: FetchResponse | ClientError,
    ) -> None:
        del self._in_flight[leader]
        if isinstance(outcome, ClientError):
            session.reset()
            self._fail_all(wanted, outcome)
        elif outcome.error_code:
            session.reset()
            self._fail_all(wanted, self._error(error_code(outcome.error_code), f"fetch from broker {leader}"))
        else:
            session.answered(outcome)
            self._read(wanted, outcome)

    def _fail_all(self, wanted: dict[TopicPartition, FetchPosition], error: ClientError) -> None:
        for topic_partition, asked in wanted.items():
            state = self._current(topic_partition, asked)
            if state is not None:
                self._failed(state, error)

    def _read(self, wanted: dict[TopicPartition, FetchPosition], response: FetchResponse) -> None:
        names = {asked.topic_id: topic_partition.topic for topic_partition, asked in wanted.items()}
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                topic_partition = TopicPartition(name, data.partition_index)
                asked = wanted.get(topic_partition)
                state = None if asked is None else self._current(topic_partition, asked)
                if state is not None:
                    self._read_partition(state, data)

    def _current(self, topic_partition: TopicPartition, asked: FetchPosition) -> AssignedPartition | None:
        """Return the partition, if it still waits for what was asked: the caller may have moved to another offset
        since."""
        state = self._assigned.get(topic_partition)
        if state is None or (state.topic_id, state.fetch_offset) != (asked.topic_id, asked.offset):
            return None
        return state

    def _read_partition(self, state: AssignedPartition, data: PartitionData) -> None:
        code = error_code(data.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            of = self._client.name
            self._on_out_of_range(state, OffsetOutOfRange(state.topic_partition, state.fetch_offset, of))
        elif code is not ErrorCode.NONE:
            self._failed(state, self._error(code, f"fetch {state.topic_partition} from offset {state.fetch_offset}"))
        else:
            state.failing_since_ms = None
            state.high_watermark = data.high_watermark
            if data.records:
                state.received(bytes(data.records), self._filter(data))

    def _filter(self, data: PartitionData) -> AbortedFilter | None:
        if not self._options.read_committed:
            return None
        aborted = data.aborted_transactions or []
        return AbortedFilter(AbortedTransaction(each.producer_id, each.first_offset) for each in aborted)

    def _failed(self, state: AssignedPartition, error: ClientError) -> None:
        """Try again in a while; hand the error to the caller if it does not pass by itself or has lasted too long."""
        now_ms = self._client.now_ms()
        self._client.refresh_soon()
        state.retry_at_ms = now_ms + RETRY_PAUSE_MS
        if state.failing_since_ms is None:
            state.failing_since_ms = now_ms
        patience_ms = TOPIC_GONE_PATIENCE_MS if error.code in GONE else self._client.retry_timeout_ms
        if error.code not in RETRIABLE or now_ms - state.failing_since_ms > patience_ms:
            state.error = error

    def _error(self, code: ErrorCode, asked: str) -> ClientError:
        return ClientError(code, asked, self._client.name)

    def forget(self) -> None:
        """Begin every session anew, because the whole assignment has changed."""
        for session in self._sessions.values():
            session.reset()


def one_fetch(partition: FetchPosition, topic_partition: TopicPartition, options: FetchOptions) -> FetchRequest:
    """Return a request for one partition, outside any session."""
    request = FetchSessionHandler().request({topic_partition: partition}, options.partition_bytes)
    request.session_epoch = -1
    request.max_wait_ms, request.min_bytes, request.max_bytes = (
        options.max_wait_ms,
        options.min_bytes,
        options.max_bytes,
    )
    request.isolation_level = int(options.read_committed)
    return request
