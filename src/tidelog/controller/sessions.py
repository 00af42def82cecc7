"""Which brokers were heard of, and when: the volatile part of the controller.

It is not in the log, so a new controller starts by presuming that every unfenced broker is alive; one that does not
heartbeat within its session is then fenced like any other.

A broker waits for the answer to a heartbeat before it sends the next. While the controller owes one, the broker is not
silent, however long that takes: to unfence a broker with ten thousand partitions may take longer than a session, and
fencing it again for that would go on for ever.
"""

from tidelog.model.lazy_dataclass import dataclass

NEVER = -1


@dataclass(slots=True)
class Session:
    epoch: int
    heard_at_ms: int
    # The last offset of the metadata log that the broker says it has applied.
    metadata_offset: int = NEVER
    # The offset that the others must have applied before this broker may go; NEVER when it is not about to.
    shutdown_offset: int = NEVER
    # The broker was not heard of yet: the session was made when this controller became active.
    is_presumed: bool = False

    @property
    def is_shutting_down(self) -> bool:
        return self.shutdown_offset != NEVER


class Sessions:
    __slots__ = ("_sessions", "_timeout_ms", "_unanswered")

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, Session] = {}
        self._unanswered: dict[int, int] = {}  # heartbeats, by broker

    def presume(self, broker_id: int, epoch: int, now_ms: int) -> None:
        self._sessions[broker_id] = Session(epoch, now_ms, is_presumed=True)

    def touch(self, broker_id: int, epoch: int, now_ms: int) -> Session:
        """Note that a heartbeat came in; return the session. The session of an older registration is not continued."""
        session = self._sessions.pop(broker_id, None)
        if session is None or session.epoch != epoch:
            session = Session(epoch, now_ms)
        session.heard_at_ms = now_ms
        session.is_presumed = False
        # At the end, because sessions stand in the order in which they will run out.
        self._sessions[broker_id] = session
        return session

    def owe_answer(self, broker_id: int) -> None:
        """Note that a heartbeat has arrived, and waits for its turn."""
        self._unanswered[broker_id] = self._unanswered.get(broker_id, 0) + 1

    def answered(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """Note that a heartbeat was answered: silence counts from here on."""
        self._unanswered[broker_id] -= 1
        if not self._unanswered[broker_id]:
            del self._unanswered[broker_id]
        if self.get(broker_id, epoch) is not None:
            self.touch(broker_id, epoch, now_ms)

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
        """The time at which the next session runs out, unless its broker is heard of before."""
        first = self._first()
        return None if first is None else self._ends_at_ms(self._sessions[first])

    def next_expired(self, now_ms: int) -> int | None:
        """Return the broker whose session ran out longest ago; None where none did."""
        first = self._first()
        return first if first is not None and self._ends_at_ms(self._sessions[first]) <= now_ms else None

    def _first(self) -> int | None:
        """Return the broker whose session will run out first."""
        return next((broker_id for broker_id in self._sessions if broker_id not in self._unanswered), None)

    def _ends_at_ms(self, session: Session) -> int:
        return session.heard_at_ms + self._timeout_ms
