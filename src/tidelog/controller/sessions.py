"""Which brokers were heard of, and when: the volatile part of the controller.

It is not in the log, so a new controller starts by presuming that every unfenced broker is alive; one that does not
heartbeat within its session is then fenced like any other.
"""

from dataclasses import dataclass

NEVER = -1


@dataclass(slots=True)
class Session:
    epoch: int
    heard_at_ms: int
    # The last offset of the metadata log that the broker says it has applied.
    metadata_offset: int = NEVER
    # The offset that the others must have applied before this broker may go; NEVER when it is not about to.
    shutdown_offset: int = NEVER
    # Nothing was heard yet: taken from the registration when this controller became active.
    is_presumed: bool = False

    @property
    def is_shutting_down(self) -> bool:
        return self.shutdown_offset != NEVER


class Sessions:
    __slots__ = ("_sessions", "_timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, Session] = {}

    def presume(self, broker_id: int, epoch: int, now_ms: int) -> None:
        self._sessions[broker_id] = Session(epoch, now_ms, is_presumed=True)

    def touch(self, broker_id: int, epoch: int, now_ms: int) -> Session:
        """A heartbeat came in. An older registration's session is not continued."""
        session = self._sessions.pop(broker_id, None)
        if session is None or session.epoch != epoch:
            session = Session(epoch, now_ms)
        session.heard_at_ms = now_ms
        session.is_presumed = False
        # To the end: sessions stand in the order in which they will run out.
        self._sessions[broker_id] = session
        return session

    def get(self, broker_id: int, epoch: int) -> Session | None:
        session = self._sessions.get(broker_id)
        return session if session is not None and session.epoch == epoch else None

    def end(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def is_valid(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        session = self.get(broker_id, epoch)
        return session is not None and now_ms < self._ends_at_ms(session)

    @property
    def deadline(self) -> int | None:
        """When the next session runs out, unless its broker is heard of before."""
        first = next(iter(self._sessions.values()), None)
        return None if first is None else self._ends_at_ms(first)

    def next_expired(self, now_ms: int) -> int | None:
        """The broker whose session ran out longest ago."""
        first = next(iter(self._sessions.items()), None)
        return first[0] if first is not None and self._ends_at_ms(first[1]) <= now_ms else None

    def _ends_at_ms(self, session: Session) -> int:
        return session.heard_at_ms + self._timeout_ms
