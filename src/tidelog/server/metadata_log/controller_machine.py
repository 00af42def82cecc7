"""The replicated machine on the metadata log, which is the controller: made when this node leads and everything in the
log is committed, dropped when either is no longer so.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from tidelog.metadata.errors import UnreadableMetadata
from tidelog.model.errors import ErrorCode
from tidelog.server.metadata_log.batches import RECORDS_A_SLICE
from tidelog.server.metadata_log.committed_reader import MetadataLogReader
from tidelog.server.metadata_log.log import MetadataLog
from tidelog.server.metadata_log.quorum import MetadataQuorum
from tidelog.server.replicated import Machine, ReplayFailed, Replicated, Reply, Result

M = TypeVar("M", bound=Machine)


def committed_messages(log: MetadataLog) -> Iterator[Sequence[Any]]:
    """Yield all committed messages from the newest snapshot on, a slice at a time; an empty one while the log can not
    be read."""
    reader = MetadataLogReader(log)
    while (batch := reader.next()) is not None or reader.is_short:
        if batch is None:
            yield ()
            continue
        while messages := [message for message, _version in islice(batch.records, RECORDS_A_SLICE)]:
            yield messages


class MetadataMachine(Generic[M]):
    """The driver of the controller, which makes and drops it as the quorum says."""

    def __init__(
        self,
        quorum: MetadataQuorum,
        make: Callable[[], M],
        activation: Callable[[M, int], Result],
        on_bug: Callable[[Any, Exception], None],
        hear: Callable[[M, Any], Callable[[int], None] | None] | None = None,
    ) -> None:
        """`activation` returns what the loaded machine has to write before it serves anybody. `hear` is called with
        each request when it arrives, and returns a function to call when the request is answered."""
        self._quorum = quorum
        self._make = make
        self._activation = activation
        self._hear = hear
        self._now_ms = 0
        self._epoch = -1  # the epoch that the machine was made in
        self.replicated: Replicated[M] = Replicated(quorum, ErrorCode.NOT_CONTROLLER, on_bug)

    @property
    def has_work(self) -> bool:
        return self.replicated.has_work and not self._is_short

    @property
    def _is_short(self) -> bool:
        """Tell whether the machine is being loaded, and its log can not be read for now."""
        return self._quorum.log.is_unread and not self.replicated.is_active

    @property
    def deadline(self) -> int | None:
        return self.replicated.deadline

    def submit(self, now_ms: int, request: Any, reply: Reply) -> None:
        self._now_ms = now_ms
        machine = self.replicated.machine
        answered = None if machine is None or self._hear is None else self._hear(machine, request)
        self.replicated.submit(now_ms, request, reply if answered is None else self._telling(answered, reply))

    def _telling(self, answered: Callable[[int], None], reply: Reply) -> Reply:
        def tell(response: Any) -> None:
            answered(self._now_ms)
            reply(response)

        return tell

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        """Make or drop the machine, and let it work. Called after the quorum's turn, to see what that has brought."""
        quorum = self._quorum
        self._now_ms = now_ms
        if not self.replicated.is_idle and (not quorum.is_leader or quorum.epoch != self._epoch):
            self.replicated.drop()
        if self.replicated.is_idle and quorum.is_settled:
            self._start()
        try:
            self.replicated.turn(now_ms, wall_ms, lambda: self._is_short or is_over())
        except ReplayFailed as failed:
            raise UnreadableMetadata(quorum.log.directory, "a record", failed) from failed

    def _start(self) -> None:
        machine, committed = self._make(), committed_messages(self._quorum.log)
        self._epoch = self._quorum.epoch
        self.replicated.start(machine, committed, lambda now_ms: self._activation(machine, now_ms))
