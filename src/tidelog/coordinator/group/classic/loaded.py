"""What a classic group that was loaded from the log has to do before it can be left in peace.

A rebalance is live state: a group is written when a generation has its assignment, and a crash before that brings the
generation before it back, as stable. Mostly a member's session then ends, and the rebalance begins again. Two things
that end nobody's session are looked for here, once after each load:

- more members than `group.max.size` allows now;
- partitions of subscribed topics that the generation assigned to no member. That is what a crash leaves of a group
  whose last KIP-848 member left (what it had is in no classic assignment), and of a cooperative rebalance between the
  round that revokes a partition and the one that hands it over. Without a rebalance nobody would read them until a
  member comes or goes. An assignor that leaves partitions out on purpose costs its group one rebalance a load.
"""

from tidelog.config.settings.groups import GROUP_MAX_SIZE
from tidelog.coordinator.group.classic.decision import Decision
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.rebalance import prepare
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.subscription import assigned_partitions
from tidelog.metadata.image import MetadataImage


def on_loaded_timer(decision: Decision, group: ClassicGroup) -> None:
    if group.state is not ClassicState.STABLE:
        return  # a rebalance is under way already
    shard = decision.shard
    if len(group.members) > shard.config.get(GROUP_MAX_SIZE):
        prepare(decision, group, "it was loaded with more members than it may have now; those who rejoin first stay")
    elif (unowned := _unowned_partition(shard.image, group)) is not None:
        prepare(decision, group, f"it was loaded, and nobody owns partition {unowned}")


def _unowned_partition(image: MetadataImage, group: ClassicGroup) -> str | None:
    """Return a partition of a subscribed topic that no member was assigned. None also where an assignment cannot be
    read."""
    if group.subscribed_topics is None:
        return None
    assigned = assigned_partitions(member.assignment for member in group.members.values())
    if assigned is None:
        return None
    for name in sorted(group.subscribed_topics):
        topic = image.topics.by_name.get(name)
        owned = assigned.get(name, set())
        if topic is not None and len(topic.partitions) > len(owned):
            return next((f"{name}-{each}" for each in topic.partition_ids() if each not in owned), None)
    return None
