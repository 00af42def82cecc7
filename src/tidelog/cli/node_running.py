"""Running a node in the foreground: what its operator is shown from the start to the stop, and which code it ends with.

0  stopped in order        1  it could not start, or could not go on        2  the command line or file is wrong
"""

import logging
import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tidelog.config import BrokerConfig
from tidelog.io.log_format import set_up_logging
from tidelog.io.run import FEW_DESCRIPTORS, Runner, raise_descriptor_limit, stop_on_signals
from tidelog.ports.errors import LockHeld, StorageFault
from tidelog.ports.network import Address
from tidelog.raft.quorum import UnservedQuorumError
from tidelog.server.node import Node, NodeFailed, Phase
from tidelog.server.node_files import NotFormatted
from tidelog.storage.errors import LogError
from tidelog.storage.logs_loading import LoadProgress

FAILED = 1
SLOW_START_S = 1.0  # after which a bar shows how far the recovery is

log = logging.getLogger("tidelog")


class CannotStart(Exception):
    """Said to the operator in one line, with the next step."""


def run_node(config: BrokerConfig, *, json_logs: bool, on_ready: Callable[[Runner], None]) -> int:
    console = Console(stderr=True)
    set_up_logging(json_logs)
    try:
        runner = start_node(config, console)
    except CannotStart as reason:
        console.print(f"[red]tidelog:[/] {reason}", highlight=False, soft_wrap=True)
        return FAILED
    stop_on_signals(runner.stop)
    on_ready(runner)
    try:
        runner.serve()
    except NodeFailed as failure:
        log.critical("stopping: %s", failure)
        return FAILED
    finally:
        runner.close()
    return 0


def start_node(config: BrokerConfig, console: Console) -> Runner:
    """A node that serves. CannotStart says why not, in words."""
    descriptors = raise_descriptor_limit()
    if descriptors < FEW_DESCRIPTORS:
        log.warning("only %s open files are allowed (ulimit -n): each connection and segment needs one", descriptors)
    runner = Runner(config)
    try:
        _listen(runner)
        runner.start()
        with _Recovery(console) as recovery:
            runner.run_until(Phase.RUNNING, recovery.show)
        report(runner.node)
    except (LockHeld, NotFormatted, UnservedQuorumError, NodeFailed, LogError, StorageFault) as error:
        runner.close()
        raise CannotStart(str(error)) from error
    except BaseException:
        runner.close()
        raise
    runner.freeze()
    return runner


def _listen(runner: Runner) -> None:
    try:
        runner.listen()
    except OSError as error:
        text = f"cannot listen: {error.strerror or error}; is another broker running? choose another port"
        raise CannotStart(text) from error


class _Recovery:
    """A bar, but only for a recovery that takes long enough to look at."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("recovering logs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("logs", total=None)
        self._began = time.monotonic()
        self._is_shown = False

    def __enter__(self) -> "_Recovery":
        return self

    def show(self, node: Node) -> None:
        if node.phase is not Phase.LOADING or time.monotonic() - self._began < SLOW_START_S:
            return
        if not self._is_shown:
            self._is_shown = True
            self._progress.start()
        self._progress.update(self._task, completed=node.progress.logs_done, total=node.progress.logs_total)

    def __exit__(self, *_exception: object) -> None:
        if self._is_shown:
            self._progress.stop()


def report(node: Node | None) -> None:
    """What the recovery found: where something was cut, and what needs somebody to look at it."""
    assert node is not None
    found: LoadProgress = node.progress
    for partition, cut in found.truncations:
        log.warning("%s: cut at offset %s, %s bytes: %s", partition, cut.offset, cut.truncated_bytes, cut.reason)
    for problem in [*node.files.metadata.problems, *found.problems]:
        log.warning("%s", problem)


def shown(address: Address) -> str:
    return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"


def exit_with(text: str, code: int = 2) -> int:
    print(f"tidelog: {text}", file=sys.stderr)
    return code
