"""The end of a preparation: the batch meets the log as it is by now. See `preparation`.

A file of its own, because workers import that one, and nothing of a log.
"""

from tidelog.storage.append.outcome import AppendOrigin, Refused, refused_while_cut
from tidelog.storage.append.preparation import Prepared
from tidelog.storage.append.validation import place_prepared
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.log import Log
from tidelog.storage.producers.verification import VerificationGuard


def append_prepared(
    log: Log,
    sent: memoryview,
    prepared: Prepared,
    leader_epoch: int,
    now_ms: int,
    guard: VerificationGuard | None = None,
) -> Append | Refused:
    """Stage a batch that a worker made ready by the rules which the log still has. `sent` is the batch as it came; this
    call may change its bytes."""
    if log.unsettled:
        return refused_while_cut(log.directory)
    batch = sent if prepared.stored is None else memoryview(bytearray(prepared.stored))
    group = log.staging()
    placed = place_prepared(batch, prepared.max_timestamp, group.end_offset, now_ms, leader_epoch, log.rules)
    if isinstance(placed, Refused):
        return placed
    return group.stage(placed, AppendOrigin.CLIENT, now_ms, guard)
