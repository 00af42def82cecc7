"""A stop in order, as steps that give the turn back while they wait.

    settle    no request is taken any more; those that were are answered, and the answers sent; members of groups who
              wait for each other are told to look for another coordinator
    leave     the controller is told, and moves leaders away
    drop      requests that take more than a turn and are not through end where they are
    finish    what is on its way to the disk gets there; a cleaning under way is called off
    flush     what is not, of all logs at once
    close     logs, checkpoints, the marker of a clean stop; last the metadata log

Whoever can not be satisfied in time (a client that does not read, a controller that can not write) is not waited for:
what was acknowledged is safe either way. A stop before the logs are loaded leaves them as a dead process would.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from tidelog.server.cluster.registration import State
from tidelog.server.hosting.awaited_logs import AwaitedLogs

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.node.node import Node
    from tidelog.server.requests.connection import ClientConnection

SETTLE_MS: Final = 5_000
PROGRESS_MS: Final = 5_000
LEAVE_MS: Final = 30_000  # less than the patience of whoever sent the signal: systemd's is 90 s

# When to go on at the latest, on the monotonic clock; None: when something completes.
StopSteps = Generator[int | None, None, None]


def stop_steps(node: "Node") -> StopSteps:
    """StorageFault where the metadata log could not be closed: the next start recovers, as after a crash."""
    broker = node.broker
    if node.cleaner is not None:
        node.cleaner.call_off_all()
    yield from _settle(broker)
    yield from _leave(broker)
    for connection in broker.connections.all():
        broker.connections.close(connection)
    broker.hosted.stop()
    _drop_continuations(broker)
    while broker.hosted.is_deleting:
        yield broker.turn.monotonic_ms
    while broker.turn.appended or node.is_busy:  # what this turn has appended is written at its end
        yield broker.turn.monotonic_ms if broker.turn.appended else None
    node.ports.housekeeping.stop()
    broker.preparations.stop()
    node.cleaner = None  # its workers are gone, and nothing is cleaned any more
    yield from _flush_logs(node)
    yield from _close_logs(node)
    yield from _close_metadata_log(node)


def _settle(broker: "Broker") -> StopSteps:
    until_ms = broker.turn.monotonic_ms + SETTLE_MS
    broker.coordinators.stop()
    while broker.turn.monotonic_ms < until_ms:
        hold_off(broker)
        _end_waits(broker)
        if all(_is_settled(each) for each in broker.connections.all()):
            return
        yield until_ms


def _drop_continuations(broker: "Broker") -> None:
    """Requests that take more than a turn end here, where they are: their clients were told nothing, and what they
    would append has to be in a log before it is closed."""
    broker.is_closing = True
    broker.slices.stop()
    broker.turn.drop_backlog()


def hold_off(broker: "Broker") -> None:
    """Nothing more is received, from anybody."""
    for connection in broker.connections.all():
        broker.network.mute(connection.id)


def _is_settled(connection: "ClientConnection") -> bool:
    is_answered = not connection.protocol.in_flight and not connection.is_in_backlog
    return is_answered and not connection.outgoing and not connection.is_sending


def _end_waits(broker: "Broker") -> None:
    """Of fetches without data, and of those who created partitions: what is made of them by now is enough."""
    from tidelog.server.fetch.delayed_fetch import DelayedFetch  # a start does without it

    for operation in list(broker.purgatory.waiting()):
        if isinstance(operation, DelayedFetch | AwaitedLogs) and not operation.is_done:
            operation.expire()


def _leave(broker: "Broker") -> StopSteps:
    registration = broker.registration
    if registration is None:
        return
    registration.leave()
    until_ms = broker.turn.monotonic_ms + LEAVE_MS
    while registration.state is not State.LEFT and broker.turn.monotonic_ms < until_ms:
        yield until_ms


def _flush_logs(node: "Node") -> StopSteps:
    """Told every few seconds, where it takes so long: who stops a large node wants to know whether it gets anywhere."""
    if node.broker.registration is None:
        return
    progress = node.broker.logs.begin_closing()
    tell_ms = node.broker.turn.monotonic_ms + PROGRESS_MS
    while node.is_busy:
        yield tell_ms
        if node.broker.turn.monotonic_ms >= tell_ms:
            tell_ms = node.broker.turn.monotonic_ms + PROGRESS_MS
            fields = {"phase": "stopping", "logs": progress.logs_total, "begun": progress.logs_begun}
            text = "stopping: %s of %s logs are on disk, or on their way there"
            node.events.life(dict(fields), text, progress.logs_begun, progress.logs_total)


def _close_logs(node: "Node") -> StopSteps:
    """In slices: a voter goes on to answer the others of its quorum."""
    registration, logs, turn = node.broker.registration, node.broker.logs, node.broker.turn
    if registration is None:
        node.files.release()
        return
    for _ in logs.closing(registration.broker_epoch, turn.wall_ms):
        if turn.is_over():
            yield turn.monotonic_ms
    for failed in logs.failures:
        node.events.directory_failed(failed.path, failed.fault, len(failed.partitions))


def _close_metadata_log(node: "Node") -> StopSteps:
    turn = node.broker.turn
    node.control.resign(turn.monotonic_ms, turn.wall_ms)
    while node.control.is_busy:
        yield None
    node.control.close(turn.wall_ms)
