"""The coordinator of the groups in one partition of `__consumer_offsets`: a replicated machine.

Here requests, records and timers find the part that they concern: `offsets`, `classic` groups, `consumer` groups
(KIP-848), `admin`. A group is of one kind at a time; a member of either protocol finds it whatever it is.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from tidelog.coordinator.group import admin
from tidelog.coordinator.group.classic import handlers as classic
from tidelog.coordinator.group.consumer import handlers as consumer
from tidelog.coordinator.group.offsets import handlers as offsets
from tidelog.coordinator.group.offsets.loading import LoadedOffsets
from tidelog.coordinator.group.offsets.offsets import Offsets
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue, LogMessage, TransactionalKeyValue
from tidelog.metadata.changes import Changes
from tidelog.metadata.image import MetadataImage
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode

Steps: TypeAlias = Generator[None, None, Result]
Handle: TypeAlias = Callable[[GroupShard, int, CoordinatorRequest], Result | Steps]
Replay: TypeAlias = Callable[[GroupShard, Any, Any], None]  # key, value or None
OnTimer: TypeAlias = Callable[[GroupShard, int, int, Any], Result | Steps]  # now_ms, wall_ms, the timer's key

_HANDLE: dict[type, Handle] = {**offsets.HANDLE, **classic.HANDLE, **consumer.HANDLE, **admin.HANDLE}
_REPLAY: dict[type, Replay] = {**offsets.REPLAY, **classic.REPLAY, **consumer.REPLAY, **admin.REPLAY}
_ON_TIMER: dict[str, OnTimer] = {**offsets.ON_TIMER, **classic.ON_TIMER, **consumer.ON_TIMER}


class GroupCoordinator:
    def __init__(self, shard: GroupShard) -> None:
        self.shard = shard
        shard.offsets = Offsets()

    @property
    def deadline(self) -> int | None:
        return self.shard.timers.deadline

    def activate(self, now_ms: int) -> Result:
        """Begin after everything is loaded: members get a whole session to be heard of again, and timers start."""
        offsets.activate(self.shard, now_ms)
        results = [classic.activate(self.shard, now_ms), consumer.activate(self.shard, now_ms)]
        return Result([record for result in results for record in result.records], None, is_atomic=False)

    def handle(self, now_ms: int, request: CoordinatorRequest) -> Result | Steps:
        handle = _HANDLE.get(type(request.message))
        if handle is None:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"{type(request.message).__name__} is not for a group coordinator"
            )
        return handle(self.shard, now_ms, request)

    def step(self, now_ms: int, wall_ms: int) -> Result | Steps:
        """Return what the next due timer brings about; look at `deadline` again after it."""
        key = self.shard.timers.pop_due(now_ms)
        if key is None:
            return Result([], None)
        assert isinstance(key, tuple), "a timer's key begins with its kind"
        return _ON_TIMER[key[0]](self.shard, now_ms, wall_ms, key)

    def replay(self, message: LogMessage | LoadedOffsets) -> None:
        if isinstance(message, LoadedOffsets):
            offsets.replay_loaded(self.shard, message)
        elif isinstance(message, KeyValue):
            _REPLAY[type(message.key)](self.shard, message.key, message.value)
        elif isinstance(message, TransactionalKeyValue):
            offsets.replay_staged(self.shard, message)
        else:
            self.shard.offsets.replay_marker(message)

    def image_changed(self, now_ms: int, image: MetadataImage, changes: Changes) -> None:
        """Take over what the cluster looks like now. Groups notice with their next heartbeat, or by a timer set for
        now; the offsets of deleted topics are removed by such a timer, too."""
        self.shard.image = image
        offsets.image_changed(self.shard, now_ms, changes)
        consumer.image_changed(self.shard, now_ms, changes)

    def printed(self) -> dict[str, Any]:
        """Return the durable and the volatile state, in plain values and a fixed order."""
        groups = {group_id: self.shard.groups[group_id].printed() for group_id in sorted(self.shard.groups)}
        return {"groups": groups, "offsets": self.shard.offsets.printed()}
