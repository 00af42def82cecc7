"""Running a node in the foreground: what its operator is shown from the start to the stop, and which code it ends with.

0  stopped in order        1  it could not start, or could not go on        2  the command line or file is wrong
"""

import errno
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.cli.exit_codes import FAILED, OK
from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.config import BrokerConfig
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.io.log_format import set_up_logging
from tidelog.io.run import Runner, raise_descriptor_limit, reload_on_signal, stop_on_signals
from tidelog.metadata.errors import MetadataError
from tidelog.ports.errors import LockHeld, StorageFault, TooManyOpenFiles
from tidelog.raft.quorum import UnservedQuorumError
from tidelog.raft.quorum_state import CorruptQuorumStateError
from tidelog.server.events import of_partition
from tidelog.server.metadata_log.snapshots import CorruptMetadataSnapshotError
from tidelog.server.node.descriptor_budget import TooFewDescriptors
from tidelog.server.node.files import NotFormatted, UnservedRoles, WrongNodeId
from tidelog.server.node.node import Node, NodeFailed, Phase
from tidelog.storage.checkpoints.errors import CorruptFileError
from tidelog.storage.directories.loading import LoadProgress
from tidelog.storage.errors import LogError

if TYPE_CHECKING:
    from tidelog.cli.output.recovery_bar import RecoveryBar

SLOW_START_S = 1.0  # after which a bar shows how far the recovery is
BUSY_PORT = "choose another port in `listeners`"
BUSY_METRICS_PORT = "choose another port in `metrics.listener` (`tidelog dev`: --metrics-port)"
ONE_VOTER = (
    "name only this node in controller.quorum.voters; where a directory was formatted for several voters "
    "(--initial-controllers), format another with --standalone"
)
REASONS = (
    TooFewDescriptors,
    NotFormatted,
    UnservedRoles,
    WrongNodeId,
    CorruptQuorumStateError,
    MetadataError,
    NodeFailed,
    LogError,
    StorageFault,
)

# What to do about each of the small files without which a node does not start.
NEXT_STEPS = {
    "meta.properties": "put back a copy, or write it anew: version=1, and cluster.id and node.id as they were",
    "quorum-state": "put back a copy; a node that is its cluster's only voter may do without: remove the file",
    "partition.metadata": "of the metadata log it always says the same: remove the file",
    "bootstrap.checkpoint": "put back a copy; a node that has started before does not need it: remove the file",
}

log = logging.getLogger("tidelog")


def run_node(
    config: BrokerConfig,
    *,
    json_logs: bool,
    log_level: str,
    on_ready: Callable[[Runner], None],
    busy_port: str = BUSY_PORT,
    read_config: Callable[[], BrokerConfig] | None = None,
) -> int:
    """Run a node until it is stopped; return the exit code. CommandFailed where it cannot start. `read_config` is
    called again on SIGHUP."""
    set_up_logging(json_logs, log_level)
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
    """Return a node that serves, or was stopped before it did. CommandFailed says why it cannot, in words."""
    raise_descriptor_limit()
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
    except UnservedQuorumError as error:
        runner.close()
        raise WrongUsage(f"{error}; {ONE_VOTER}") from error
    except REASONS as error:
        runner.close()
        raise CommandFailed(f"{error}{_next_step(error)}") from error
    except BaseException:
        runner.close()
        raise
    runner.begin_to_serve()
    return runner


def _next_step(error: Exception) -> str:
    """Return what an operator does about a small file that cannot be believed, or about missing descriptors."""
    if isinstance(error, TooManyOpenFiles):
        return "; raise the limit (ulimit -n, or fs.file-max of the machine) and start again"
    path = getattr(error, "path", "")
    is_damaged = isinstance(error, CorruptFileError | CorruptMetadataSnapshotError | CorruptQuorumStateError)
    step = NEXT_STEPS.get(path[path.rfind("/") + 1 :]) if is_damaged else None
    return "" if step is None else f"; {step}"


def _listen(runner: Runner, config: BrokerConfig, busy_port: str) -> None:
    try:
        runner.listen()
    except OSError as error:
        # Listeners are bound in this order, and the one for metrics last.
        failed = [f"{each.host or '*'}:{each.port}" for each in config.listener_plan.listeners[len(runner.bound) :]]
        address = failed[0] if failed else config.get(METRICS_LISTENER)
        text = f"cannot listen on {address}: {error.strerror or error}"
        raise CommandFailed(f"{text}; {_other_address(error, busy_port if failed else BUSY_METRICS_PORT)}") from error


def _other_address(error: OSError, busy_port: str) -> str:
    if error.errno == errno.EADDRNOTAVAIL:
        setting = "metrics.listener" if busy_port == BUSY_METRICS_PORT else "listeners"
        return f"it is not an address of this machine; name one that is in `{setting}`, or 0.0.0.0 for all of them"
    return f"is another broker running? {busy_port}"


class _Recovery:
    """A progress bar, but only for a recovery that takes long enough to look at."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: RecoveryBar | None = None

    def __enter__(self) -> "_Recovery":
        return self

    def show(self, node: Node) -> None:
        if node.phase is not Phase.LOADING or time.monotonic() - self._began < SLOW_START_S:
            return
        if self._bar is None:
            from tidelog.cli.output.recovery_bar import RecoveryBar  # a quick start does not pay for rich

            self._bar = RecoveryBar()
        self._bar.update(node.progress)

    def __exit__(self, *_exception: object) -> None:
        if self._bar is not None:
            self._bar.close()


def report(node: Node | None) -> None:
    """Log what the recovery found: where a log was truncated, and what needs somebody to look at it."""
    if node is None:  # the node was stopped before it had looked at anything
        return
    found: LoadProgress = node.progress
    for partition, truncation in found.truncations:
        fields = of_partition(
            partition, offset=truncation.offset, truncated_bytes=truncation.truncated_bytes, reason=truncation.reason
        )
        text = "%s: truncated at offset %s, %s bytes removed: %s"
        log.warning(
            text, partition, truncation.offset, truncation.truncated_bytes, truncation.reason, extra={"fields": fields}
        )
    for problem in [*node.files.metadata.problems, *found.problems]:
        log.warning("%s", problem)
    if found.rebuilt:
        fields = {"rebuilt": len(found.rebuilt)}
        text = (
            "%s logs had no index for their last segment, as after a kill: rebuilt, nothing is lost (DEBUG names them)"
        )
        log.warning(text, len(found.rebuilt), extra={"fields": fields})
        for line in found.rebuilt:
            log.debug("%s", line)
