"""Fetch: batches from where the reader is, as soon as there are enough of them or its patience ends.

The first batch is sent whole whatever the limits say, or a reader with small limits would never get past a large one.
The request under way is a `DelayedFetch`. It goes in slices where it names many partitions, or where its session has
many that may have something to say.
"""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from tidelog.server.fetch.delayed_fetch import DelayedFetch
from tidelog.server.fetch.partition_read import refused
from tidelog.server.fetch.quick_path import learn
from tidelog.server.fetch.repeated_fetch import remember
from tidelog.server.fetch.session import NO_SESSION
from tidelog.server.fetch.sessions import INITIAL_EPOCH
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.handler import Handler, RequestContext, Steps, run_whole
from tidelog.storage.log.reading import FetchIsolation

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_WITH_REPLICA_STATE: Final = 15
READ_COMMITTED: Final = 1
CONSUMER: Final = -1


def replica_id_of(request: FetchRequest, version: int) -> int:
    """Who reads: -1 for a consumer, less for a tool that compares replicas. The field moved in version 15, and the one
    that a version does not have says nothing."""
    return request.replica_state.replica_id if version >= FIRST_WITH_REPLICA_STATE else request.replica_id


def isolation_of(replica_id: int, isolation_level: int) -> FetchIsolation:
    if replica_id != CONSUMER:  # followers, and tools that compare replicas, read all that there is
        return FetchIsolation.LOG_END
    return FetchIsolation.TXN_COMMITTED if isolation_level == READ_COMMITTED else FetchIsolation.HIGH_WATERMARK


def handle(broker: "Broker", context: RequestContext, request: FetchRequest) -> FetchResponse | None:
    replica_id = replica_id_of(request, context.api_version)
    if replica_id > CONSUMER:
        return run_whole(_refuse_followers(request))
    if _has_much_to_say(broker, request):
        broker.slices.begin_steps(context, request, steps)
        return None
    isolation = isolation_of(replica_id, request.isolation_level)
    fetch = DelayedFetch(broker, context, request, isolation)
    code = run_whole(fetch.open())
    if code is not ErrorCode.NONE:
        return _session_error(code)
    session = fetch.session
    if session.id == NO_SESSION:
        remember(context.connection, context.request, request, context.frame_start, fetch)
    response = run_whole(fetch.go_on())
    if fetch.has_records:
        learn(context.connection, context.request, request, context.frame_start, session, isolation)
    return response


def steps(broker: "Broker", context: RequestContext, request: FetchRequest) -> Steps[FetchResponse | None]:
    replica_id = replica_id_of(request, context.api_version)
    if replica_id > CONSUMER:
        return (yield from _refuse_followers(request))
    fetch = DelayedFetch(broker, context, request, isolation_of(replica_id, request.isolation_level))
    code = yield from fetch.open()
    return _session_error(code) if code is not ErrorCode.NONE else (yield from fetch.go_on())


def _has_much_to_say(broker: "Broker", request: FetchRequest) -> bool:
    """Whether a short request is about many partitions, or has to wait for one of its session that is."""
    if request.session_epoch <= INITIAL_EPOCH:
        return False
    session = broker.fetch_sessions.find(request.session_id)
    if session is None:
        return False
    is_under_way = session.parked is not None and session.parked.is_under_way
    return is_under_way or len(session.unsettled) > WHOLE_ELEMENTS_MAX


def _session_error(code: ErrorCode) -> FetchResponse:
    return FetchResponse(throttle_time_ms=0, error_code=code, session_id=NO_SESSION, responses=[])


def _refuse_followers(request: FetchRequest) -> Steps[FetchResponse]:
    """Followers come with replication."""
    responses = yield from _all_refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return FetchResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, responses=responses)


def _all_refused(request: FetchRequest, code: ErrorCode) -> Steps[list[FetchableTopicResponse]]:
    responses: list[FetchableTopicResponse] = []
    for topic in request.topics:
        named = FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[])
        responses.append(named)
        for each in topic.partitions:
            named.partitions.append(refused(each.partition, code))
            yield
    return responses


def refuse(request: FetchRequest, code: ErrorCode, _message: str | None) -> FetchResponse:
    """Clients of the time before topic ids look for the error in each partition."""
    by_id = any(topic.topic_id != ZERO_UUID for topic in request.topics)
    responses = [] if by_id else run_whole(_all_refused(request, code))
    return FetchResponse(throttle_time_ms=0, error_code=code, session_id=request.session_id, responses=responses)


FETCH = Handler(ApiKey.FETCH, handle, refuse, steps=steps)
