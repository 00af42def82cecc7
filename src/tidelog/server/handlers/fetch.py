"""Fetch: batches from where the reader is, as soon as there are enough of them or its patience ends.

The first batch is sent whole whatever the limits say, or a reader with small limits would never get past a large one.
Nothing is copied: the response carries ranges of segment files. A request that waits holds none of them; it looks again
when one of its partitions moves.
"""

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.ports.files import Ticket
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
)
from tidelog.server.fetch_read import Asked, Fetched, fetch_partition, refused
from tidelog.server.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    asked_by,
    is_news,
    rotate,
    update,
)
from tidelog.server.handling import Handler, RequestContext
from tidelog.server.partition import Partition
from tidelog.storage.log_read import FetchIsolation

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

FIRST_BY_ID = 13
FIRST_WITH_ENDPOINTS = 16
READ_COMMITTED = 1
CONSUMER = -1
MAX_SESSION_ID = 0x7FFF_FFFF
FIRST_WITH_STORAGE_ERROR = 6
FIRST_WITH_LEADER = 12
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class DelayedFetch:
    """A fetch under way, from its arrival to its answer."""

    __slots__ = (
        "asked",
        "broker",
        "context",
        "is_done",
        "is_incremental",
        "request",
        "session",
        "warming",
        "watched",
    )

    def __init__(
        self,
        broker: "Broker",
        context: RequestContext,
        request: FetchRequest,
        asked: list[Asked],
        session: FetchSession | None,
        *,
        is_incremental: bool,
    ) -> None:
        self.broker = broker
        self.context = context
        self.request = request
        self.asked = asked
        self.session = session
        self.is_incremental = is_incremental
        self.is_done = False
        self.warming = 0  # ranges that a helper is bringing into the page cache
        self.watched: list[Partition] = []

    @property
    def by_id(self) -> bool:
        return self.context.api_version >= FIRST_BY_ID

    def start(self) -> None:
        if self.try_complete():
            return
        broker = self.broker
        broker.purgatory.add(self, broker.turn.monotonic_ms + max(0, self.request.max_wait_ms))
        for asked in self.asked:
            found = broker.partition_of(asked.place)
            if found is not None:
                found.fetch_waiters[self] = None
                self.watched.append(found)

    def _end(self) -> None:
        """A partition on which nothing happens would keep it for ever."""
        self.is_done = True
        for partition in self.watched:
            partition.fetch_waiters.pop(self, None)

    def is_abandoned(self) -> bool:
        if self.context.connection.is_closed:
            self._end()
        return self.is_done

    def try_complete(self) -> bool:
        if self.context.connection.is_closed:
            self._end()
        elif not self.warming:
            fetched = self._read()
            if self.request.max_wait_ms <= 0 or self._is_enough(fetched):
                self._warm_or_answer(fetched)
        return self.is_done

    def expire(self) -> None:
        """Time is up: whatever there is. A range that is being warmed still is waited for."""
        if not self.warming:
            self._warm_or_answer(self._read())

    @property
    def max_bytes(self) -> int:
        return min(self.request.max_bytes, self.broker.limits.fetch_bytes_max)

    def _is_enough(self, fetched: list[Fetched]) -> bool:
        """Topics that there are not are no reason to hurry, unless nothing else was asked for: a client that goes on
        asking for a deleted topic would never rest."""
        known = [each for each in fetched if each.data.error_code not in _UNKNOWN]
        if not known or any(each.is_urgent for each in known):
            return True
        return sum(each.size_bytes for each in known) >= min(self.request.min_bytes, self.max_bytes)

    def _read(self) -> list[Fetched]:
        broker, request = self.broker, self.request
        left = self.max_bytes
        isolation = _isolation(request)
        fetched: list[Fetched] = []
        is_first = True
        for asked in self.asked:
            one = fetch_partition(broker, asked, isolation, left, min_one_batch=is_first, by_id=self.by_id)
            fetched.append(one)
            left = max(0, left - one.size_bytes)
            is_first = is_first and not one.size_bytes
        return fetched

    def _warm_or_answer(self, fetched: list[Fetched]) -> None:
        for each in fetched:
            ticket = each.begin_warm(self.broker)
            if ticket is not None:
                self.warming += 1
                self.broker.when_warm(ticket, self)
        if not self.warming:
            self._answer(fetched)

    def warmed(self, _ticket: Ticket) -> None:
        """A helper is done with a range, well or not: a disk that fails will say so to whoever reads it."""
        self.warming -= 1
        if not self.warming and not self.is_done:
            if self.context.connection.is_closed:
                self._end()
            else:
                self._answer(self._read())

    def _answer(self, fetched: list[Fetched]) -> None:
        self._end()
        session = self.session
        told = fetched
        if self.context.api_version < FIRST_WITH_LEADER:
            _translate(fetched, self.context.api_version)
        if session is not None:
            news = [each for each in fetched if is_news(session, each)]
            told = news if self.is_incremental else fetched
            rotate(session, fetched)
        self.context.respond(self._response(told))

    def _response(self, told: list[Fetched]) -> FetchResponse:
        by_topic: dict[tuple[str, Uuid], FetchableTopicResponse] = {}
        for each in told:
            asked = each.asked
            key = (asked.place.topic, asked.topic_id)
            if key not in by_topic:
                by_topic[key] = FetchableTopicResponse(topic=asked.place.topic, topic_id=asked.topic_id, partitions=[])
            by_topic[key].partitions.append(each.to_send(self.broker))
        session_id = NO_SESSION if self.session is None else self.session.id
        return FetchResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            session_id=session_id,
            responses=list(by_topic.values()),
            node_endpoints=self._endpoints(told),
        )

    def _endpoints(self, told: list[Fetched]) -> list[NodeEndpoint]:
        """Of the leaders that the response names."""
        if self.context.api_version < FIRST_WITH_ENDPOINTS:
            return []
        named = dict.fromkeys(each.data.current_leader.leader_id for each in told if each.data.error_code)
        accepted = self.context.connection.accepted
        found = [(node, self.broker.endpoint_of(node, accepted)) for node in named if node >= 0]
        return [
            NodeEndpoint(node_id=node, host=end.host, port=end.port, rack=end.rack)
            for node, end in found
            if end is not None
        ]


def _translate(fetched: list[Fetched], version: int) -> None:
    """For old clients: there is no room for the leader, and at an error that they do not know they would give up."""
    for each in fetched:
        each.data.current_leader = LeaderIdAndEpoch()
        if each.data.error_code == ErrorCode.KAFKA_STORAGE_ERROR and version < FIRST_WITH_STORAGE_ERROR:
            each.data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


def _isolation(request: FetchRequest) -> FetchIsolation:
    if request.replica_id < CONSUMER:  # a tool that compares replicas reads all that there is
        return FetchIsolation.LOG_END
    return FetchIsolation.TXN_COMMITTED if request.isolation_level == READ_COMMITTED else FetchIsolation.HIGH_WATERMARK


def handle(broker: "Broker", context: RequestContext, request: FetchRequest) -> FetchResponse | None:
    by_id = context.api_version >= FIRST_BY_ID
    replica_id = request.replica_state.replica_id if context.api_version >= 15 else request.replica_id
    if replica_id > CONSUMER:  # followers come with replication
        responses = _all_refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, responses=responses)
    asked = asked_by(request, broker.topic_names(topic.topic_id for topic in request.topics) if by_id else {}, by_id)
    sessions, now_ms = broker.fetch_sessions, broker.turn.monotonic_ms
    if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
        if request.session_id != NO_SESSION:
            sessions.close(request.session_id)
        session = None
        if request.session_epoch == INITIAL_EPOCH and asked:
            session = sessions.create(by_id, 1 + broker.entropy.random_below(MAX_SESSION_ID), len(asked), now_ms)
        if session is not None:
            update(session, asked, request)
        DelayedFetch(broker, context, request, asked, session, is_incremental=False).start()
        return None
    found = sessions.use(request.session_id, request.session_epoch, by_id, now_ms)
    if isinstance(found, ErrorCode):
        return _session_error(found)
    update(found, asked, request)
    if not found.partitions:  # everything was forgotten: the session ends
        sessions.close(found.id)
        DelayedFetch(broker, context, request, asked, None, is_incremental=False).start()
        return None
    wanted = [cached.asked for cached in found.partitions.values()]
    DelayedFetch(broker, context, request, wanted, found, is_incremental=True).start()
    return None


def _session_error(code: ErrorCode) -> FetchResponse:
    return FetchResponse(throttle_time_ms=0, error_code=code, session_id=NO_SESSION, responses=[])


def _all_refused(request: FetchRequest, code: ErrorCode) -> list[FetchableTopicResponse]:
    return [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[refused(each.partition, code) for each in topic.partitions],
        )
        for topic in request.topics
    ]


def refuse(request: FetchRequest, code: ErrorCode, _message: str | None) -> FetchResponse:
    """Clients of the time before topic ids look for the error in each partition."""
    by_id = any(topic.topic_id != ZERO_UUID for topic in request.topics)
    responses = [] if by_id else _all_refused(request, code)
    return FetchResponse(throttle_time_ms=0, error_code=code, session_id=request.session_id, responses=responses)


# A controller's listener serves Fetch of the metadata log, which comes with the second voter.
FETCH = Handler(ApiKey.FETCH, handle, refuse, is_for_controllers=False)
