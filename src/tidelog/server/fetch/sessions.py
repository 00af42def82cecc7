"""Fetch sessions (KIP-227): a client names its partitions once, and then only what changes; and so does the broker.

    (0, -1)   no session            (any, 0)   a new one
    (id, -1)  end it                (id, n)    the n-th request of one: changes in, changes out

A session (`session`) keeps each partition as last asked for, and what was last said of it: an answer that would
repeat that is left out. The number of sessions is bound, and so is the memory that all of them take. A new one takes
the place of one that nobody has used for a while, or there is none for it, which costs the client no more than longer
requests. When all are in use, one that is old and smaller gives way too.

A session is not tied to a connection: a client that reconnects goes on with it. One whose connection has ended is kept
for a while and then freed. A session is ended as well when a partition of it has not existed for a while: its client is
told that there is no such session, begins a new one, and names only what it still wants.
"""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.server.fetch.session import FetchSession

if TYPE_CHECKING:
    from tidelog.server.requests.connection import ClientConnection

FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
MAX_EPOCH: Final = 0x7FFF_FFFF
EVICTABLE_AFTER_MS: Final = 120_000  # a session that is unused for so long gives way to a new one
KEPT_AFTER_CONNECTION_MS: Final = 120_000  # the time that a client has to come back
KEPT_UNKNOWN_MS: Final = 300_000  # how long a session may name a partition that does not exist
# The memory of all sessions together: a hundred thousand partitions. Ten followers of ten thousand partitions each fit.
BYTES_MAX: Final = 67_108_864
# The memory of all requests without a session that are kept for the next one (`repeated_fetch`): 30,000 partitions.
REPEATED_BYTES_MAX: Final = 33_554_432


class FetchSessions:
    """All sessions that are kept, by id."""

    def __init__(self, slots: int, bytes_max: int = BYTES_MAX) -> None:
        self._slots = slots
        self._bytes_max = bytes_max
        self.repeated_bytes = 0
        self._sessions: dict[int, FetchSession] = {}  # the least recently used first
        self._connections: dict[int, ClientConnection] = {}  # the connection that last used each
        self._ended_ms: dict[int, int] = {}  # when that connection was first seen to have ended

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    @property
    def size_bytes(self) -> int:
        """An estimate of the memory that all sessions take."""
        return sum(session.size_bytes for session in self._sessions.values())

    def admit(self, session: FetchSession, new_id: int, now_ms: int) -> bool:
        """Keep a session under this id; False where there is no room for it."""
        if new_id in self._sessions or not self._has_slot(session, now_ms) or not self._has_memory(session, now_ms):
            return False
        session.id = new_id
        self._sessions[new_id] = session
        return True

    def _has_slot(self, session: FetchSession, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        return self._evict_unused(now_ms) or self._evict_smaller(len(session.partitions), now_ms)

    def _has_memory(self, session: FetchSession, now_ms: int) -> bool:
        """Make room for a session that is new or has grown; False where there is none."""
        if session.size_bytes > self._bytes_max:
            return False
        while True:
            known = 0 if session.id in self._sessions else session.size_bytes
            if self.size_bytes + known <= self._bytes_max:
                return True
            if not self._evict_unused(now_ms):
                return False

    def _evict_unused(self, now_ms: int) -> bool:
        least_used = next(iter(self._sessions.values()), None)
        if least_used is None or now_ms - least_used.last_used_ms <= EVICTABLE_AFTER_MS:
            return False
        self.close(least_used.id)
        return True

    def _evict_smaller(self, size: int, now_ms: int) -> bool:
        old = (each for each in self._sessions.values() if now_ms - each.created_ms > EVICTABLE_AFTER_MS)
        smallest = min(old, key=lambda each: len(each.partitions), default=None)
        if smallest is None or len(smallest.partitions) > size:
            return False
        self.close(smallest.id)
        return True

    def use(self, session_id: int, epoch: int, by_id: bool, now_ms: int) -> FetchSession | ErrorCode:
        """Return the session of an incremental request, or an error where the request does not continue it."""
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.by_id != by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        unknown_since_ms = next(iter(session.unknown.values()), now_ms)
        if now_ms - unknown_since_ms > KEPT_UNKNOWN_MS:
            self.close(session_id)
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        session.epoch = 1 if epoch == MAX_EPOCH else epoch + 1
        session.last_used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session

    def find(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def is_kept(self, session: FetchSession) -> bool:
        return self._sessions.get(session.id) is session

    def has_grown(self, session: FetchSession, now_ms: int) -> bool:
        """Tell whether there is room for a session after a request has named more partitions. Where there is not, the
        session is closed."""
        if self._has_memory(session, now_ms):
            return self.is_kept(session)
        self.close(session.id)
        return False

    def used_by(self, session: FetchSession, connection: "ClientConnection") -> None:
        if self.is_kept(session):
            self._connections[session.id] = connection

    def keep_repeated(self, grown_bytes: int) -> bool:
        """Count memory of requests that are kept without a session, more or less by `grown_bytes`; False where it is
        too much."""
        self.repeated_bytes += grown_bytes
        return self.repeated_bytes <= REPEATED_BYTES_MAX

    def close(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        self._connections.pop(session_id, None)
        self._ended_ms.pop(session_id, None)
        if session is not None:
            if session.parked is not None:
                session.parked.hurry()
            session.release()

    def expire(self, now_ms: int) -> None:
        """Free the sessions whose connections have ended a while ago. Called from time to time."""
        for session_id, connection in list(self._connections.items()):
            if not connection.is_closed:
                self._ended_ms.pop(session_id, None)
            elif now_ms - self._ended_ms.setdefault(session_id, now_ms) >= KEPT_AFTER_CONNECTION_MS:
                self.close(session_id)
