"""Fetch sessions (KIP-227): a client names its partitions once, and then only what changes; and so does the broker.

    (0, -1)   no session            (any, 0)   a new one
    (id, -1)  end it                (id, n)    the n-th request of one: changes in, changes out

A session keeps each partition as last asked for, and what was last said of it: an answer that would repeat that is left
out. The number of sessions is bound; a new one takes the place of one that nobody has used for a while, or there is
none for it, which costs the client no more than longer requests. When all are in use, one that is old and smaller gives
way too.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.protocol.messages.fetch import FetchRequest, PartitionData
from tidelog.server.fetch_read import Asked, Fetched

NO_SESSION: Final = 0
FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
MAX_EPOCH: Final = 0x7FFF_FFFF
EVICTABLE_AFTER_MS: Final = 120_000  # unused for so long, a session gives way to a new one

Key = tuple[Uuid, str, int]


class Said(NamedTuple):
    """What the client knows of a partition."""

    high_watermark: int
    log_start_offset: int


@dataclass(slots=True)
class Cached:
    asked: Asked
    said: Said | None = None


@dataclass(slots=True)
class FetchSession:
    id: int
    by_id: bool  # topics are named by id: a session does not change its mind
    created_ms: int
    last_used_ms: int
    epoch: int = 1  # that the next request has to name
    partitions: dict[Key, Cached] = field(default_factory=dict)


class FetchSessions:
    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: dict[int, FetchSession] = {}  # the least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def create(self, by_id: bool, new_id: int, size: int, now_ms: int) -> FetchSession | None:
        """`size` in partitions. None when all slots are in use."""
        if new_id in self._sessions or not self._has_room(size, now_ms):
            return None
        session = self._sessions[new_id] = FetchSession(new_id, by_id, now_ms, now_ms)
        return session

    def _has_room(self, size: int, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        least_used = next(iter(self._sessions.values()), None)
        if least_used is None:
            return False
        if now_ms - least_used.last_used_ms > EVICTABLE_AFTER_MS:
            del self._sessions[least_used.id]
            return True
        return self._evict_smaller(size, now_ms)

    def _evict_smaller(self, size: int, now_ms: int) -> bool:
        old = (each for each in self._sessions.values() if now_ms - each.created_ms > EVICTABLE_AFTER_MS)
        smallest = min(old, key=lambda each: len(each.partitions), default=None)
        if smallest is None or len(smallest.partitions) > size:
            return False
        del self._sessions[smallest.id]
        return True

    def use(self, session_id: int, epoch: int, by_id: bool, now_ms: int) -> FetchSession | ErrorCode:
        """The session of an incremental request."""
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.by_id != by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = 1 if epoch == MAX_EPOCH else epoch + 1
        session.last_used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session

    def close(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)


def update(session: FetchSession, asked: list[Asked], request: FetchRequest) -> None:
    """What the request adds, changes and forgets."""
    for each in asked:
        key = key_of(each, session.by_id)
        cached = session.partitions.get(key)
        if cached is None:
            session.partitions[key] = Cached(each)
        else:
            cached.asked = each
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            name, topic_id = ("", topic.topic_id) if session.by_id else (topic.topic, ZERO_UUID)
            session.partitions.pop((topic_id, name, index), None)


def key_of(asked: Asked, by_id: bool) -> Key:
    index = asked.request.partition
    return (asked.topic_id, "", index) if by_id else (ZERO_UUID, asked.place.topic, index)


def is_news(session: FetchSession, fetched: Fetched) -> bool:
    """Whether an incremental response has to name the partition; notes what it then says."""
    cached = session.partitions.get(key_of(fetched.asked, session.by_id))
    if cached is None:
        return True
    data = fetched.data
    said = Said(data.high_watermark, data.log_start_offset)
    is_new = said != cached.said or fetched.size_bytes > 0 or _is_always_told(data)
    cached.said = None if data.error_code else said  # an error is told again, and the state after it
    return is_new


def _is_always_told(data: PartitionData) -> bool:
    has_diverged = data.diverging_epoch.epoch >= 0
    return bool(data.error_code) or data.preferred_read_replica >= 0 or has_diverged


def rotate(session: FetchSession, answered: list[Fetched]) -> None:
    """Partitions that had records go to the end, so that the limit of a response starves nobody."""
    for fetched in answered:
        if fetched.size_bytes:
            key = key_of(fetched.asked, session.by_id)
            cached = session.partitions.pop(key, None)
            if cached is not None:
                session.partitions[key] = cached


def asked_by(request: FetchRequest, names: dict[Uuid, str], by_id: bool) -> list[Asked]:
    """The partitions that a request names; `names` resolves the ids."""
    asked = []
    for topic in request.topics:
        name = names.get(topic.topic_id, "") if by_id else topic.topic
        topic_id = topic.topic_id if by_id else ZERO_UUID
        asked += [Asked(TopicPartition(name, each.partition), topic_id, each) for each in topic.partitions]
    return asked
