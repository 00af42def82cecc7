"""A classic group and its members, with the steps that scenarios are written in."""

from typing import Any

from tests.interop.apache.differential.requests import assignment, beat, commit, fetch, join, leave, sync
from tests.interop.apache.differential.world import World

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest

STATIC_JOINS = 5
# The version of each other request that a client sends together with this version of JoinGroup.
SYNC_OF = (0, 0, 1, 2, 2, 3, 4, 5, 5, 5)
BEAT_OF = (0, 0, 1, 2, 2, 3, 4, 4, 4, 4)
LEAVE_OF = (0, 0, 1, 2, 2, 3, 4, 4, 5, 5)
DESCRIBE_OF = (0, 0, 1, 2, 3, 4, 5, 5, 5, 6)


def known_id(world: World, joined: Any, name: str) -> str:
    world.call(joined.member_id, name)
    return str(joined.member_id)


class Member:
    def __init__(self, group: "ClassicGroup", name: str, instance: str | None = None) -> None:
        self.group = group
        self.name = name
        self.instance = instance
        self.client = group.world.client(f"client-{name}")
        self.member_id = ""
        self.generation = -1

    def send_join(self, **of: Any) -> None:
        """Send JoinGroup; its answer may have to wait for other members."""
        given = {**self.group.joining_with, **of}
        if self.instance is not None:
            given["group_instance_id"] = self.instance
        self.client.wait(join(self.group.id, self.member_id, **given), self.group.version)

    def receive_join(self) -> Any:
        joined = self.client.receive()
        self.group.world.call(joined.member_id, self.name)
        self.member_id = joined.member_id or self.member_id
        self.generation = joined.generation_id
        return joined

    def rejoin(self, **of: Any) -> Any:
        """Join and return the answer. It comes at once when this member is the last to join, or the only one."""
        self.send_join(**of)
        joined = self.receive_join()
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.send_join(**of)
            joined = self.receive_join()
        return joined

    def send_sync(self, assignments: dict[str, bytes] | None = None, **of: Any) -> None:
        if self.instance is not None:
            of["group_instance_id"] = self.instance
        request = sync(self.group.id, self.member_id, self.generation, assignments, **of)
        self.client.wait(request, SYNC_OF[self.group.version])

    def receive_sync(self) -> Any:
        return self.client.receive()

    def sync(self, assignments: dict[str, bytes] | None = None, **of: Any) -> Any:
        self.send_sync(assignments, **of)
        return self.receive_sync()

    def beat(self) -> None:
        request = beat(self.group.id, self.member_id, self.generation, self.instance)
        self.client.ask(request, BEAT_OF[self.group.version])

    def leave(self) -> None:
        version = LEAVE_OF[self.group.version]
        self.client.ask(leave(self.group.id, version, (self.member_id, self.instance)), version)


class ClassicGroup:
    """A classic group. `joining_with` are fields of every JoinGroup of its members."""

    def __init__(self, world: World, version: int, **joining_with: Any) -> None:
        self.world = world
        self.id = world.name
        self.version = version
        self.joining_with = joining_with
        self._looking = world.client("looking")

    def alone(self, name: str, **of: Any) -> Member:
        """Add a member that joins and is answered at once."""
        member = Member(self, name, of.pop("instance", None))
        member.rejoin(**of)
        return member

    def joining(self, name: str, **of: Any) -> Member:
        """Add a member whose JoinGroup waits for the others to join again."""
        member = Member(self, name, of.pop("instance", None))
        if self.version >= 4 and member.instance is None:
            member.send_join(**of)
            member.receive_join()
        member.send_join(**of)
        return member

    def pair(self, **of: Any) -> tuple[Member, Member]:
        """Add two members and give each its assignment; the first leads."""
        first = self.alone("a", **of)
        first.sync({first.member_id: assignment({"orders": [0, 1, 2, 3]})})
        second = self.joining("b", **of)
        first.rejoin(**of)
        second.receive_join()
        to_first, to_second = assignment({"orders": [0, 1]}), assignment({"orders": [2, 3]})
        first.sync({first.member_id: to_first, second.member_id: to_second})
        second.sync()
        return first, second

    def describe(self) -> None:
        self._looking.ask(DescribeGroupsRequest(groups=[self.id]), DESCRIBE_OF[self.version])

    def look_around(self, member: Member) -> None:
        """Ask everything that does not change the group, as this member, as a stranger and as an admin tool."""
        ask = self._looking.ask
        self.describe()
        self._looking.list_groups(ListGroupsRequest(), 5, self.id)
        ask(beat(self.id, member.member_id, member.generation, member.instance), BEAT_OF[self.version])
        ask(beat(self.id, member.member_id, member.generation + 5, member.instance), BEAT_OF[self.version])
        ask(beat(self.id, "somebody", member.generation), BEAT_OF[self.version])
        ask(sync(self.id, member.member_id, member.generation + 5), SYNC_OF[self.version])
        ask(leave(self.id, LEAVE_OF[self.version], "somebody"), LEAVE_OF[self.version])
        place = {("orders", 0): 5}
        generation = {"generation_id_or_member_epoch": member.generation}
        ask(commit(self.id, place, member_id=member.member_id, group_instance_id=member.instance, **generation), 8)
        ask(commit(self.id, place, member_id="somebody", **generation), 8)
        ask(commit(self.id, place), 8)
        ask(fetch(self.id, {"orders": [0]}, 7), 7)
