"""`uniform`: every member gets as many partitions as every other, give or take one, and keeps what it has.

Balance comes first, then stickiness: of the assignments that are as balanced as the subscriptions allow, one that moves
few partitions. Where all members are subscribed to the same topics (`uniform_equal`) both are reached exactly, in one
pass; where they are not, see `uniform_mixed`.
"""

from tidelog.coordinator.group.assignors.assignor import Assignment, GroupSpec, TopicsSpec
from tidelog.coordinator.group.assignors.uniform_equal import assign_equal
from tidelog.coordinator.group.assignors.uniform_mixed import assign_mixed


def assign(group: GroupSpec, topics: TopicsSpec) -> Assignment:
    if not group.members:
        return {}
    return assign_equal(group, topics) if group.is_homogeneous else assign_mixed(group, topics)
