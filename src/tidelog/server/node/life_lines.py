"""The node's life in its log, a line for each phase that matters, with what one asks first when something is wrong.

starts     which node, of which cluster, on which directories
loaded     how many logs, how many of them were cut, how long it took
serves     where it listens and what clients are told, which is what goes wrong most often; and what it can not serve
stopping   and stopped
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tidelog.ports.network import Address
from tidelog.server.cluster.advertised import fixed_addresses
from tidelog.server.node.descriptor_budget import UNLIMITED, DescriptorBudget
from tidelog.server.node.phase import Phase
from tidelog.server.node.shortfalls import shortfalls

if TYPE_CHECKING:
    from tidelog.server.node.node import Node

MILLISECONDS_PER_S: Final = 1_000
NANOSECONDS_PER_MS: Final = 1_000_000
FEW_DESCRIPTORS: Final = 10_000  # for a broker in production
BY_ADDRESS: Final = "the address by which they connect"


class LifeLines:
    def __init__(self, node: "Node", bound: Mapping[str, Address]) -> None:
        self._node = node
        self._bound = bound
        self._phase = Phase.ELECTING
        self._began_ms = self._now_ms = node.broker.turn.monotonic_ms
        self._starts()

    def follow(self) -> None:
        """After a turn in which the phase may have changed."""
        node = self._node
        if node.phase is self._phase:
            return
        self._phase = node.phase
        self._now_ms = node.ports.clock.monotonic_ms()  # and not that of the turn: closing all logs is one
        match node.phase:
            case Phase.JOINING:
                self._loaded()
            case Phase.RUNNING:
                self._serves()
            case Phase.STOPPING:
                self._stopping()
            case Phase.STOPPED:
                took_s = (self._now_ms - self._began_ms) / MILLISECONDS_PER_S
                node.events.life({"phase": "stopped", "took_s": took_s}, "stopped in order, after %.3f s", took_s)

    def _starts(self) -> None:
        node = self._node
        broker, directories = node.broker, list(node.broker.logs.directories)
        fields = {
            "phase": "starting",
            "node_id": broker.node_id,
            "cluster_id": broker.cluster_id,
            "log_dirs": directories,
        }
        text = "node %s of cluster %s starts; its log directories: %s"
        node.events.life(fields, text, broker.node_id, broker.cluster_id, ", ".join(directories))
        if node.budget.limit != UNLIMITED:
            self._descriptors(node.budget)

    def _descriptors(self, budget: DescriptorBudget) -> None:
        is_few = budget.limit < FEW_DESCRIPTORS
        shares = (budget.limit, budget.connections, budget.open_files, budget.pinned_files, budget.reserved)
        fields = dict(
            zip(("descriptors", "connections", "open_files", "pinned_files", "reserved"), shares, strict=True)
        )
        self._node.events.descriptors(dict(fields), *shares, is_few=is_few)

    def _loaded(self) -> None:
        progress = self._node.progress
        took_s = (self._now_ms - self._began_ms) / MILLISECONDS_PER_S
        fields = {
            "phase": "loaded",
            "logs": progress.logs_done,
            "scanned_bytes": progress.bytes_done,
            "cut": len(progress.truncations),
            "took_s": took_s,
        }
        text = "%s logs are open after %.3f s; %s bytes were scanned, %s logs were cut"
        self._node.events.life(fields, text, progress.logs_done, took_s, progress.bytes_done, len(progress.truncations))

    def _serves(self) -> None:
        node = self._node
        took_s = (self._now_ms - self._began_ms) / MILLISECONDS_PER_S
        listeners = {name: _shown(address) for name, address in self._bound.items()}
        told = self._told()
        partitions = len(node.broker.hosted.by_topic_partition)
        fields = {
            "phase": "serving",
            "node_id": node.broker.node_id,
            "cluster_id": node.broker.cluster_id,
            "listeners": listeners,
            "told": told,
            "partitions": partitions,
            "took_s": took_s,
        }
        where = ", ".join(f"{name} on {address}" for name, address in listeners.items())
        text = "node %s serves after %.3f s: %s; clients are told %s; %s partitions"
        node.events.life(fields, text, node.broker.node_id, took_s, where, told, partitions)
        for line in shortfalls(node.broker.config, node.broker.image):
            node.events.shortfall(line)

    def serves_reads(self) -> None:
        """Before it is a member of its cluster."""
        node = self._node
        took_s = (self._now_ms - self._began_ms) / MILLISECONDS_PER_S
        partitions = len(node.broker.hosted.by_topic_partition)
        text = (
            "node %s serves reads only, of %s partitions, after %.3f s: the metadata log has no room, so nothing can "
            "be written, created or deleted; it goes on by itself when there is some"
        )
        fields = {"phase": "serving reads", "node_id": node.broker.node_id, "partitions": partitions, "took_s": took_s}
        node.events.life(fields, text, node.broker.node_id, partitions, took_s)

    def _told(self) -> str:
        fixed = fixed_addresses(self._node.broker.config, self._bound)
        return BY_ADDRESS if fixed is None else ", ".join(_shown(address) for address in fixed.values())

    def _stopping(self) -> None:
        broker = self._node.broker
        self._began_ms = self._now_ms
        longest_ms = broker.turn.times.worst_ns / NANOSECONDS_PER_MS
        fields = {"phase": "stopping", "connections": len(broker.connections), "longest_turn_ms": longest_ms}
        text = "stopping; %s connections; longest turn of the loop: %.1f ms"
        self._node.events.life(fields, text, len(broker.connections), longest_ms)


def _shown(address: Address) -> str:
    return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"
