"""Running a node in the foreground: what its operator is shown from the start to the stop, and which code it ends with.

0  stopped in order        1  it could not start, or could not go on        2  the command line or file is wrong
"""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.cli.failing import CommandFailed
from tidelog.cli.parsers import FAILED, OK
from tidelog.config import BrokerConfig
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.io.log_format import set_up_logging
from tidelog.io.run import FEW_DESCRIPTORS, Runner, raise_descriptor_limit, reload_on_signal, stop_on_signals
from tidelog.metadata.errors import MetadataError
from tidelog.ports.errors import LockHeld, StorageFault
from tidelog.raft.quorum import UnservedQuorumError
from tidelog.raft.quorum_state import CorruptQuorumStateError
from tidelog.server.events import of_partition
from tidelog.server.node import Node, NodeFailed, Phase
from tidelog.server.node_files import NotFormatted
from tidelog.storage.errors import LogError
from tidelog.storage.logs_loading import LoadProgress

if TYPE_CHECKING:
    from tidelog.cli.recovery_bar import RecoveryBar

SLOW_START_S = 1.0  # after which a bar shows how far the recovery is
BUSY_PORT = "choose another port in `listeners`"
REASONS = (
    NotFormatted,
    UnservedQuorumError,
    CorruptQuorumStateError,
    MetadataError,
    NodeFailed,
    LogError,
    StorageFault,
)

log = logging.getLogger("tidelog")


def run_node(
    config: BrokerConfig,
    *,
    json_logs: bool,
    on_ready: Callable[[Runner], None],
    busy_port: str = BUSY_PORT,
    read_config: Callable[[], BrokerConfig] | None = None,
) -> int:
    """Until it is stopped. CommandFailed where it can not start. `read_config` is asked again on SIGHUP."""
    set_up_logging(json_logs)
    runner = start_node(config, busy_port, read_config)
    try:
        if not runner.is_stopping:
            on_ready(runner)
        runner.serve()
    except NodeFailed as failure:
        log.critical("stopping: %s", failure)
        return FAILED
    finally:
        runner.close()
    return OK


def start_node(config: BrokerConfig, busy_port: str, read_config: Callable[[], BrokerConfig] | None = None) -> Runner:
    """A node that serves, or was stopped before it did. CommandFailed says why it can not, in words."""
    descriptors = raise_descriptor_limit()
    if descriptors < FEW_DESCRIPTORS:
        log.warning("only %s open files are allowed (ulimit -n): each connection and segment needs one", descriptors)
    runner = Runner(config, read_config)
    stop_on_signals(runner.stop)
    if read_config is not None:
        reload_on_signal(runner.reload)
    try:
        _listen(runner, config, busy_port)
        runner.start()
        with _Recovery() as recovery:
            runner.run_until(Phase.RUNNING, recovery.show)
        report(runner.node)
    except LockHeld as held:
        runner.close()
        raise CommandFailed(f"{held}; is another node running on this directory?") from held
    except REASONS as error:
        runner.close()
        raise CommandFailed(str(error)) from error
    except BaseException:
        runner.close()
        raise
    runner.freeze()
    return runner


def _listen(runner: Runner, config: BrokerConfig, busy_port: str) -> None:
    try:
        runner.listen()
    except OSError as error:
        # They are bound in this order, and the one for metrics last.
        failed = [f"{each.host or '*'}:{each.port}" for each in config.listener_plan.listeners[len(runner.bound) :]]
        address = failed[0] if failed else config.get(METRICS_LISTENER)
        text = f"cannot listen on {address}: {error.strerror or error}; is another broker running? {busy_port}"
        raise CommandFailed(text) from error


class _Recovery:
    """A bar, but only for a recovery that takes long enough to look at."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: RecoveryBar | None = None

    def __enter__(self) -> "_Recovery":
        return self

    def show(self, node: Node) -> None:
        if node.phase is not Phase.LOADING or time.monotonic() - self._began < SLOW_START_S:
            return
        if self._bar is None:
            from tidelog.cli.recovery_bar import RecoveryBar  # rich is not paid for by a start that is quick

            self._bar = RecoveryBar()
        self._bar.update(node.progress)

    def __exit__(self, *_exception: object) -> None:
        if self._bar is not None:
            self._bar.close()


def report(node: Node | None) -> None:
    """What the recovery found: where something was cut, and what needs somebody to look at it."""
    assert node is not None
    found: LoadProgress = node.progress
    for partition, cut in found.truncations:
        fields = of_partition(partition, offset=cut.offset, truncated_bytes=cut.truncated_bytes, reason=cut.reason)
        text = "%s: cut at offset %s, %s bytes: %s"
        log.warning(text, partition, cut.offset, cut.truncated_bytes, cut.reason, extra={"fields": fields})
    for problem in [*node.files.metadata.problems, *found.problems]:
        log.warning("%s", problem)
