"""Which brokers a client can reach by the listener that it came by, and which replicas are offline by that."""

from typing import TYPE_CHECKING, Final

from tidelog.metadata.topics import Partition
from tidelog.ports.network import Accepted
from tidelog.server.node.broker import NodeAddress

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

NO_LEADER: Final = -1


class Reachable:
    """The brokers that the client of one request can reach: their addresses by node id, in the order of the ids."""

    def __init__(self, broker: "Broker", accepted: Accepted) -> None:
        self._registered = broker.image.brokers
        self.addresses: dict[int, NodeAddress] = {}
        for node_id in sorted(broker.image.brokers):
            address = broker.endpoint_of(node_id, accepted)
            if address is not None:
                self.addresses[node_id] = address

    def __contains__(self, node_id: int) -> bool:
        return node_id in self.addresses

    def is_registered(self, node_id: int) -> bool:
        return node_id in self._registered

    def offline_of(self, partition: Partition) -> list[int]:
        """Return the replicas on brokers that are fenced, unknown or not on this listener, or in a log directory that
        failed."""
        return [replica for replica in partition.replicas if not self._is_online(partition, replica)]

    def _is_online(self, partition: Partition, replica: int) -> bool:
        if replica not in self.addresses:
            return False
        return self._registered[replica].has_online_log_dir(partition.directory_of(replica))
