"""The wait of a request that created topics or partitions: it is answered when their logs are made here, so that a
client that writes to a new topic at once is served, and does not hear NOT_LEADER_OR_FOLLOWER first.

The wait has an end (`WAIT_MAX_MS`): what the controller has committed exists, and ten thousand logs on a slow disk take
longer to make than some clients wait for an answer.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from tidelog.metadata.topics import Topic
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

WAIT_MAX_MS: Final = 5_000


class AwaitedLogs:
    """One such request. It lies in the purgatory until each partition of its topics that this broker hosts has a log,
    or was refused one."""

    def __init__(
        self, broker: "Broker", names: Iterable[str], respond: Callable[[], None], is_abandoned: Callable[[], bool]
    ) -> None:
        self._broker = broker
        self._names = deque(names)
        self._next = 0  # the partition of the first topic to look at next
        self._respond = respond
        self._is_abandoned = is_abandoned
        self.is_done = False

    def is_abandoned(self) -> bool:
        return self._is_abandoned()

    def expire(self) -> None:
        self.is_done = True
        self._respond()

    def look(self) -> None:
        """Look for further logs, from where the last look ended. A topic that is not in the image yet is waited for."""
        if self.is_done:
            return  # the wait was over, or the node stops
        while self._names:
            topic = self._broker.image.topics.by_name.get(self._names[0])
            if topic is None or not self._is_made(topic):
                return
            self._names.popleft()
            self._next = 0
        self.expire()

    def _is_made(self, topic: Topic) -> bool:
        hosted, partitions = self._broker.hosted, topic.partitions
        while self._next < len(partitions):
            index = self._next
            is_ours = self._broker.node_id in partitions[index].replicas
            is_there = (topic.id, index) in hosted.by_id or TopicPartition(topic.name, index) in hosted.refused
            if is_ours and not is_there:
                return False
            self._next += 1
        return True
