"""Every scenario on one broker, several at a time, because most of them mostly wait.

They have sessions and rebalances of a second or two, and a machine with other work to do may let one of them end in the
middle of a scenario. So scenarios that went differently on the two brokers run again, one at a time, and the last run
counts.
"""

import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.interop.apache.differential import (
    admin_scenarios,
    classic_request_scenarios,
    classic_scenarios,
    consumer_change_scenarios,
    consumer_scenarios,
    large_scenarios,
    mixed_scenarios,
    offset_scenarios,
    random_classic_scenarios,
    random_consumer_scenarios,
    static_scenarios,
)
from tests.interop.apache.differential.world import SCENARIOS, Step, Transcript, World

MODULES = (
    offset_scenarios,
    random_classic_scenarios,
    random_consumer_scenarios,
    admin_scenarios,
    classic_request_scenarios,
    classic_scenarios,
    static_scenarios,
    consumer_change_scenarios,
    consumer_scenarios,
    large_scenarios,
    mixed_scenarios,
)  # importing them fills SCENARIOS
BROKEN = "the scenario broke"
AT_A_TIME = 24
# Sessions short enough to wait for their end, groups small enough to be full, no gathering of changes; and requests of
# all connections one after the other (`World.settle`).
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "200",
    "group.max.session.timeout.ms": "60000",
    "group.max.size": "4",
    "group.consumer.max.size": "4",
    "group.consumer.min.session.timeout.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "1",
    "num.network.threads": "1",
    "num.io.threads": "1",
}


def run_scenarios(address: str) -> dict[str, Transcript]:
    """Run all scenarios; return their transcripts by name. A scenario that fails has the failure as its last step."""
    return _run(address, list(SCENARIOS), "", AT_A_TIME)


def run_again(address: str, names: Sequence[str], number: int) -> dict[str, Transcript]:
    """Run these scenarios one at a time, with groups and topics that no earlier try has used."""
    return _run(address, names, f" again {number}", 1)


def _run(address: str, names: Sequence[str], suffix: str, at_a_time: int) -> dict[str, Transcript]:
    first = World(address, "first")
    first.await_coordinator()
    first.topic("orders")
    first.topic("other")
    first.close()
    with ThreadPoolExecutor(at_a_time) as pool:
        transcripts = pool.map(lambda name: run_scenario(World(address, name + suffix, dict(first.names)), name), names)
        return dict(zip(names, transcripts, strict=True))


def run_scenario(world: World, name: str) -> Transcript:
    function, version = SCENARIOS[name]
    try:
        function(world, version)
        return world.transcript()
    except Exception:  # noqa: BLE001 - whatever it is, it is said of this scenario, and the others go on
        return [*world.transcript(), Step(BROKEN, traceback.format_exc())]
    finally:
        world.close()
