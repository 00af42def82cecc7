"""In which log directory each replica lies, told to the controller (AssignReplicasToDirs).

The controller has to know: when a directory fails, the heartbeat names only that, and the controller finds the
partitions that need another leader. A broker with one directory has nothing to tell; with several, the controller
leaves the choice to the broker, and learns it here. What is on disk counts: whenever a partition is hosted, or its
metadata change, the two are compared.

A move is told before it is committed (`may_commit`). Were it the other way round, the target could fail in between,
and nobody would know whom that concerns.
"""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tidelog.metadata.record_versions import DIRECTORIES_FROM
from tidelog.metadata.topics import Partition as PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.paths import parent_of
from tidelog.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
)
from tidelog.server.hosting.partition import Partition

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

RETRY_MS: Final = 50
REPLICAS_A_REQUEST: Final = 2_000

Replica = tuple[Uuid, int]  # topic id and partition


class ReplicaDirectories:
    """What the controller is still to be told of this broker's replicas, and the request that tells it."""

    def __init__(self, broker: "Broker", ids: Mapping[str, Uuid]) -> None:
        """`ids` has the ids of the log directories by path, as far as they have one."""
        self._broker = broker
        self._ids = ids
        self._to_tell: dict[Replica, Uuid] = {}
        self._moving: dict[Replica, Uuid] = {}  # targets of moves that wait until the controller knows them
        self._is_waiting = False  # for the controller's answer
        self._next_ms = 0

    @property
    def deadline_ms(self) -> int | None:
        return self._next_ms if self._to_tell and not self._is_waiting and self._is_registered else None

    @property
    def _is_registered(self) -> bool:
        return self._broker.broker_epoch >= 0

    @property
    def _is_supported(self) -> bool:
        return self._broker.image.metadata_version >= DIRECTORIES_FROM

    # What is to be told

    def look(self, partition: Partition, image: PartitionImage) -> None:
        """Compare the directory of a partition with what the controller knows. Called when the partition is hosted, its
        metadata change, or its log has moved."""
        replica = (partition.topic_id, partition.topic_partition.partition)
        found = self._moving.get(replica) or self._ids.get(parent_of(partition.log.directory))
        if found is None or not self._is_supported or found == image.directory_of(self._broker.node_id):
            self._to_tell.pop(replica, None)
        else:
            self._to_tell[replica] = found

    def may_commit(self, topic_partition: TopicPartition, path: str) -> bool:
        """Tell whether the controller knows where the partition goes; have it told otherwise. A move whose copy is
        level asks again and again."""
        partition, image = self._known(topic_partition)
        target = self._ids.get(path)
        if partition is None or image is None or target is None or not self._is_supported:
            return True
        if image.directory_of(self._broker.node_id) == target:
            return True
        self._moving[partition.topic_id, topic_partition.partition] = target
        self.look(partition, image)
        return False

    def moved(self, topic_partition: TopicPartition) -> None:
        """Note that the move has ended, committed or not: what is on disk counts again."""
        partition, image = self._known(topic_partition)
        if partition is not None and image is not None:
            self._moving.pop((partition.topic_id, topic_partition.partition), None)
            self.look(partition, image)

    def is_online(self, image: PartitionImage) -> bool:
        """Tell whether the controller has the replica in a log directory of this broker that works."""
        recorded, directories = image.directory_of(self._broker.node_id), self._broker.logs.directories
        return any(each == recorded and directories[path].is_online for path, each in self._ids.items())

    def forget(self, topic_id: Uuid, index: int) -> None:
        self._to_tell.pop((topic_id, index), None)
        self._moving.pop((topic_id, index), None)

    def _known(self, topic_partition: TopicPartition) -> tuple[Partition | None, PartitionImage | None]:
        partition = self._broker.hosted.by_topic_partition.get(topic_partition)
        if partition is None:
            return None, None
        return partition, self._broker.image.topics.partition(partition.topic_id, topic_partition.partition)

    # Telling it

    def turn(self, now_ms: int) -> None:
        deadline_ms = self.deadline_ms
        if deadline_ms is None or now_ms < deadline_ms:
            return
        told = dict(islice(self._to_tell.items(), REPLICAS_A_REQUEST))
        self._is_waiting = True
        self._broker.ask_controller(self._request(told), lambda answer: self._answered(told, answer))

    def _request(self, told: Mapping[Replica, Uuid]) -> AssignReplicasToDirsRequest:
        by_directory: dict[Uuid, dict[Uuid, list[AssignReplicasToDirsRequestPartitionData]]] = {}
        for (topic_id, index), directory in told.items():
            partitions = by_directory.setdefault(directory, {}).setdefault(topic_id, [])
            partitions.append(AssignReplicasToDirsRequestPartitionData(partition_index=index))
        return AssignReplicasToDirsRequest(
            broker_id=self._broker.node_id,
            broker_epoch=self._broker.broker_epoch,
            directories=[
                AssignReplicasToDirsRequestDirectoryData(
                    id=directory,
                    topics=[
                        AssignReplicasToDirsRequestTopicData(topic_id=topic_id, partitions=partitions)
                        for topic_id, partitions in topics.items()
                    ],
                )
                for directory, topics in by_directory.items()
            ],
        )

    def _answered(self, told: Mapping[Replica, Uuid], answer: Any) -> None:
        """Forget what was told: each replica was accepted, or its topic is gone, and the image will say which. Without
        a valid answer all of them are told again."""
        self._is_waiting = False
        if not isinstance(answer, AssignReplicasToDirsResponse) or answer.error_code != ErrorCode.NONE:
            self._next_ms = self._broker.turn.monotonic_ms + RETRY_MS
            return
        for replica, directory in told.items():
            if self._to_tell.get(replica) == directory:
                del self._to_tell[replica]
