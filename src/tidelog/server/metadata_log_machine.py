"""The replicated machine on the metadata log, which is the controller: made when this node leads and everything in the
log is committed, dropped when either is no longer so.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from tidelog.model.errors import ErrorCode
from tidelog.server.metadata_log import MetadataLog
from tidelog.server.metadata_log_quorum import MetadataQuorum
from tidelog.server.metadata_log_reader import MetadataLogReader
from tidelog.server.metadata_log_records import RECORDS_A_SLICE
from tidelog.server.replicated import Machine, Replicated, Reply, Result

M = TypeVar("M", bound=Machine)


def committed_messages(log: MetadataLog) -> Iterator[Sequence[Any]]:
    """All of them from the newest snapshot on, a slice at a time."""
    reader = MetadataLogReader(log)
    while (batch := reader.next()) is not None:
        while messages := [message for message, _version in islice(batch.records, RECORDS_A_SLICE)]:
            yield messages


class MetadataMachine(Generic[M]):
    def __init__(
        self,
        quorum: MetadataQuorum,
        make: Callable[[], M],
        activation: Callable[[M, int], Result],
        on_bug: Callable[[Any, Exception], None],
    ) -> None:
        """`activation`: what the machine, loaded, has to write at this time before it serves anybody."""
        self._quorum = quorum
        self._make = make
        self._activation = activation
        self._epoch = -1  # that the machine was made in
        self.replicated: Replicated[M] = Replicated(quorum, ErrorCode.NOT_CONTROLLER, on_bug)

    @property
    def has_work(self) -> bool:
        return self.replicated.has_work

    @property
    def deadline(self) -> int | None:
        return self.replicated.deadline

    def submit(self, now_ms: int, request: Any, reply: Reply) -> None:
        self.replicated.submit(now_ms, request, reply)

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        """Behind the quorum's turn, so that it sees what that has brought."""
        quorum = self._quorum
        if not self.replicated.is_idle and (not quorum.is_leader or quorum.epoch != self._epoch):
            self.replicated.drop()
        if self.replicated.is_idle and quorum.is_settled:
            self._start()
        self.replicated.turn(now_ms, wall_ms, is_over)

    def _start(self) -> None:
        machine, committed = self._make(), committed_messages(self._quorum.log)
        self._epoch = self._quorum.epoch
        self.replicated.start(machine, committed, lambda now_ms: self._activation(machine, now_ms))
