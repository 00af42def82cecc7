"""A stop in order, as steps that give the turn back while they wait.

    settle    no request is taken any more; those that were are answered, and the answers sent; members of groups who
              wait for each other are told to look for another coordinator
    leave     the controller is told, and moves leaders away
    finish    what is on its way to the disk gets there; a cleaning under way is called off
    close     logs, checkpoints, the marker of a clean stop; last the metadata log

Whoever can not be satisfied in time (a client that does not read, a controller that can not write) is not waited for:
what was acknowledged is safe either way. A stop before the logs are loaded leaves them as a dead process would.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from tidelog.server.registration import State

if TYPE_CHECKING:
    from tidelog.server.broker import Broker
    from tidelog.server.connection import ClientConnection
    from tidelog.server.node import Node

SETTLE_MS: Final = 5_000
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
    while node.is_busy:
        yield None
    node.ports.housekeeping.stop()
    _close_logs(node)
    yield from _close_metadata_log(node)


def _settle(broker: "Broker") -> StopSteps:
    until_ms = broker.turn.monotonic_ms + SETTLE_MS
    broker.coordinators.stop()
    while broker.turn.monotonic_ms < until_ms:
        hold_off(broker)
        _end_long_polls(broker)
        if all(_is_settled(each) for each in broker.connections.all()):
            return
        yield until_ms


def hold_off(broker: "Broker") -> None:
    """Nothing more is received, from anybody."""
    for connection in broker.connections.all():
        broker.network.mute(connection.id)


def _is_settled(connection: "ClientConnection") -> bool:
    is_answered = not connection.protocol.in_flight and not connection.is_in_backlog
    return is_answered and not connection.outgoing and not connection.is_sending


def _end_long_polls(broker: "Broker") -> None:
    for partition in broker.hosted.by_place.values():
        for waiter in list(partition.fetch_waiters):
            if not waiter.is_done:
                waiter.expire()
        partition.fetch_waiters.clear()


def _leave(broker: "Broker") -> StopSteps:
    registration = broker.registration
    if registration is None:
        return
    registration.leave()
    until_ms = broker.turn.monotonic_ms + LEAVE_MS
    while registration.state is not State.LEFT and broker.turn.monotonic_ms < until_ms:
        yield until_ms


def _close_logs(node: "Node") -> None:
    registration, logs = node.broker.registration, node.broker.logs
    if registration is None:
        node.files.release()
        return
    logs.close(registration.broker_epoch, node.broker.turn.wall_ms)
    for failed in logs.failures:
        node.events.directory_failed(failed.path, failed.fault, len(failed.partitions))


def _close_metadata_log(node: "Node") -> StopSteps:
    turn = node.broker.turn
    node.control.resign(turn.monotonic_ms, turn.wall_ms)
    while node.control.is_busy:
        yield None
    node.control.close(turn.wall_ms)
