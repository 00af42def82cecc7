"""A KIP-848 group and its members, with the steps that scenarios are written in."""

import time
from typing import Any

from tests.interop.apache.differential.requests import commit, fetch, heartbeat, hello
from tests.interop.apache.differential.world import Step, World

from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest

LEAVING = -1
SETTLED_S_MAX = 10
QUIET_S = 1.0


class Member:
    def __init__(self, group: "ConsumerGroup", member_id: str, instance: str | None) -> None:
        self.group = group
        self.member_id = member_id
        self.instance = instance
        self.epoch = 0
        self.client = group.world.client(f"client-{member_id}")

    def join(self, *topics: str, **of: Any) -> Any:
        given = {"subscribed_topic_names": list(topics), "instance_id": self.instance, **of}
        return self._ask(hello(self.group.id, self.member_id, **given))

    def beat(self, **of: Any) -> Any:
        epoch = of.pop("member_epoch", self.epoch)
        return self._ask(heartbeat(self.group.id, self.member_id, epoch, instance_id=self.instance, **of))

    def leave(self) -> None:
        self.beat(member_epoch=LEAVING)

    def _ask(self, request: Any) -> Any:
        answer = self.client.ask(request, self.group.version)
        if not answer.error_code:
            if not self.member_id:
                self.group.world.call(answer.member_id, "given")
            self.member_id, self.epoch = answer.member_id, max(answer.member_epoch, 0) or self.epoch
        return answer


class ConsumerGroup:
    def __init__(self, world: World, version: int, group_id: str | None = None) -> None:
        self.world = world
        self.id = world.name if group_id is None else group_id
        self.version = version
        self._looking = world.client("looking")

    def member(self, member_id: str, instance: str | None = None) -> Member:
        return Member(self, member_id, instance)

    def describe(self) -> None:
        request = ConsumerGroupDescribeRequest(group_ids=[self.id], include_authorized_operations=True)
        self._looking.ask(request, self.version)
        self._looking.ask(DescribeGroupsRequest(groups=[self.id]), 6)
        self._looking.list_groups(ListGroupsRequest(), 5, self.id)

    def look_around(self, member: Member) -> None:
        """Ask everything that does not change the group, as this member, as a stranger and as an admin tool."""
        self.describe()
        place = {("orders", 0): 5}
        ask = self._looking.ask
        of_member = {"member_id": member.member_id, "generation_id_or_member_epoch": member.epoch}
        ask(commit(self.id, place, **of_member), 9)
        ask(commit(self.id, place, member_id="somebody", generation_id_or_member_epoch=1), 9)
        ask(commit(self.id, place), 9)
        ask(fetch(self.id, {"orders": [0]}, 9, member_id=member.member_id, member_epoch=member.epoch), 9)
        ask(fetch(self.id, {"orders": [0]}, 9), 9)

    def counted(self) -> None:
        """Note how many partitions each member is to have. The assignor is free to choose which ones, and who gets one
        more."""
        request = ConsumerGroupDescribeRequest(group_ids=[self.id], include_authorized_operations=False)
        (group,) = self._looking.quietly(request, 1).groups
        counts = [
            sum(len(topic.partitions) for topic in member.target_assignment.topic_partitions)
            for member in group.members
        ]
        self.world.note(Step("how many", [group.group_state, group.group_epoch, *sorted(counts)]))

    def settled(self, member: Member) -> None:
        """Send heartbeats until nothing new comes, then note the state: a regular expression is resolved in the
        background."""
        deadline, since, last = time.monotonic() + SETTLED_S_MAX, time.monotonic(), None
        while time.monotonic() - since < QUIET_S:
            assert time.monotonic() < deadline, "it does not settle"
            answer = member.client.quietly(heartbeat(self.id, member.member_id, member.epoch), self.version)
            if answer.member_epoch != last or answer.assignment is not None:
                since, last = time.monotonic(), answer.member_epoch
            member.epoch = answer.member_epoch
            time.sleep(0.05)
        request = ConsumerGroupDescribeRequest(group_ids=[self.id], include_authorized_operations=False)
        (group,) = self._looking.quietly(request, 1).groups
        owned = [
            (each.topic_name, *each.partitions) for one in group.members for each in one.assignment.topic_partitions
        ]
        epochs = [group.group_epoch, group.assignment_epoch, member.epoch]
        self.world.note(Step("settled", [group.group_state, epochs, sorted(owned)]))
