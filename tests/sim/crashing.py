"""Crashes after every operation, for tests that cut a scenario or a recovery wherever it can be cut.

A machine can be copied (`copy.deepcopy`), so that one crashed disk is recovered again and again, each time cut
somewhere else.
"""

from collections.abc import Callable

from tests.sim.broker import contents
from tests.sim.test_log_crashes import NEVER, CrashingTrace, PowerLoss

from tidelog.sim.files import SimFileSystem
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.verify import VerifyOptions, verify_directory
from tidelog.storage.log.log import Log

LOGS = "/disk/logs"


def cut_short(fs: SimFileSystem, run: Callable[[], object], operations: int, *, by_power: bool) -> bool:
    """Run `run` and crash after that many operations; return whether it came to that. If so, the machine is down."""
    trace = fs.trace
    assert isinstance(trace, CrashingTrace)
    trace.crash_at = trace.count + operations
    try:
        run()
    except PowerLoss:
        trace.crash_at = NEVER
        fs.forbids_waits = False
        end(fs, by_power=by_power)
        return True
    trace.crash_at = NEVER
    return False


def end(fs: SimFileSystem, *, by_power: bool) -> None:
    if by_power:
        fs.lose_power()
    else:
        fs.kill()


def facts(log: Log) -> dict[str, object]:
    """Return everything about a log that a recovery decides."""
    return {
        "offsets": (log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_stable_offset),
        "recovery point": log.flush.recovery_point,
        "topic id": log.topic_id,
        "segments": [(segment.base_offset, segment.size_bytes) for segment in log.segments],
        "records": contents(log),
        "epochs": list(log.epochs.entries()),
        "producers": sorted(map(str, log.producers.producers.values())),
    }


def problems(fs: SimFileSystem) -> list[str]:
    """Return what `log verify` finds wrong, apart from the missing identity of the directory, which no test gives
    it."""
    found = verify_directory(fs, LOGS, VerifyOptions(check_records=True))
    return [str(each) for each in found if isinstance(each, Finding) and "meta.properties" not in each.path]
