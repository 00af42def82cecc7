"""The response to a fetch, put together of what each partition answers.

In a session only news are told, and the session notes what was: see `FetchEntry.is_news`. Compiled by mypyc.
"""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, LeaderIdAndEpoch, NodeEndpoint
from tidelog.server.fetch.partition_read import Fetched
from tidelog.server.fetch.session import NO_SESSION, FetchSession
from tidelog.server.requests.handler import RequestContext

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_WITH_STORAGE_ERROR: Final = 6
FIRST_WITH_LEADER: Final = 12
FIRST_WITH_ENDPOINTS: Final = 16


class FetchAnswer:
    """One response in the making."""

    __slots__ = ("_broker", "_by_topic", "_context", "_is_incremental", "_leaders", "_session", "has_records")

    def __init__(
        self, broker: "Broker", context: RequestContext, session: FetchSession, *, is_incremental: bool
    ) -> None:
        self._broker = broker
        self._context = context
        self._session = session
        self._is_incremental = is_incremental
        self._by_topic: dict[tuple[str, Uuid], FetchableTopicResponse] = {}
        self._leaders: dict[int, None] = {}  # the leaders that the response names
        self.has_records = False

    def add(self, each: Fetched) -> None:
        """Add what a partition answers to the response, unless the client knows it already."""
        session, version = self._session, self._context.api_version
        if version < FIRST_WITH_LEADER:
            _translate(each, version)
        if session.id != NO_SESSION and not self._is_told(session, each):
            return
        entry, data = each.entry, each.data
        key = (entry.topic_partition.topic, entry.topic_id)
        named = self._by_topic.get(key)
        if named is None:
            named = FetchableTopicResponse(topic=entry.topic_partition.topic, topic_id=entry.topic_id, partitions=[])
            self._by_topic[key] = named
        named.partitions.append(data)
        if data.error_code:
            self._leaders[data.current_leader.leader_id] = None
        if each.partition is not None and each.size_bytes:
            each.partition.metrics.bytes_out += each.size_bytes
            self.has_records = True

    def _is_told(self, session: FetchSession, each: Fetched) -> bool:
        """Tell whether the response has to name the partition, and bring the session up to date."""
        entry = each.entry
        is_news = entry.is_news(each.data, each.size_bytes)
        if each.is_unknown:
            session.unknown.setdefault(entry, self._broker.turn.monotonic_ms)
        elif session.unknown:
            session.unknown.pop(entry, None)
        if each.size_bytes:
            session.rank_last(entry)
        return is_news or not self._is_incremental

    def response(self) -> FetchResponse:
        return FetchResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            session_id=self._session.id,
            responses=list(self._by_topic.values()),
            node_endpoints=self._endpoints(),
        )

    def _endpoints(self) -> list[NodeEndpoint]:
        """Return the addresses of the leaders that the response names."""
        if self._context.api_version < FIRST_WITH_ENDPOINTS:
            return []
        accepted = self._context.connection.accepted
        found = [(node, self._broker.endpoint_of(node, accepted)) for node in self._leaders if node >= 0]
        return [
            NodeEndpoint(node_id=node, host=end.host, port=end.port, rack=end.rack)
            for node, end in found
            if end is not None
        ]


def _translate(each: Fetched, version: int) -> None:
    """Change an answer for old clients: their versions have no field for the leader, and they would give up at an error
    that they do not know."""
    each.data.current_leader = LeaderIdAndEpoch()
    if each.data.error_code == ErrorCode.KAFKA_STORAGE_ERROR and version < FIRST_WITH_STORAGE_ERROR:
        each.data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
