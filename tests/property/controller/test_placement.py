"""Placement for any cluster: every partition obeys the rules, and the algorithm always ends."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.controller.placement import Placement, UsableBroker
from tidelog.sim.entropy import SimEntropy

brokers = st.lists(
    st.builds(
        UsableBroker, id=st.integers(0, 20), rack=st.sampled_from([None, "a", "b", "c"]), is_fenced=st.booleans()
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda broker: broker.id,
).filter(lambda found: not all(broker.is_fenced for broker in found))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(brokers, st.integers(1, 9), st.integers(0, 3))
def test_every_partition(found: list[UsableBroker], replication_factor: int, seed: int) -> None:
    replication_factor = min(replication_factor, len(found))
    by_id = {broker.id: broker for broker in found}
    racks = {broker.rack for broker in found}
    placement = Placement(found, SimEntropy(seed))
    placement.check(replication_factor)
    leaders = []
    for _ in range(40):
        replicas = placement.place(replication_factor)
        leaders.append(replicas[0])
        assert len(replicas) == len(set(replicas)) == replication_factor
        assert not by_id[replicas[0]].is_fenced
        used = [by_id[each].rack for each in replicas]
        assert len(set(used)) >= min(replication_factor, len(racks)), "a rack was left out"
        for replica in replicas:
            if by_id[replica].is_fenced:
                others = {each.id for each in found if each.rack == by_id[replica].rack and not each.is_fenced}
                assert others <= set(replicas), "a fenced broker was taken before an unfenced one of its rack"
    if len(racks) == 1:
        counts = [leaders.count(broker.id) for broker in found if not broker.is_fenced]
        assert max(counts) - min(counts) <= 2
