"""Every scenario on one broker, several at a time: most of them mostly wait."""

import traceback
from concurrent.futures import ThreadPoolExecutor

from tests.interop.apache.differential import admin_scenarios, classic_scenarios, offset_scenarios
from tests.interop.apache.differential.world import SCENARIOS, Step, Transcript, World

MODULES = (offset_scenarios, admin_scenarios, classic_scenarios)  # importing them fills SCENARIOS
AT_A_TIME = 24
# Sessions short enough to wait for their end, groups small enough to be full, and no gathering of changes.
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
}


def run_scenarios(address: str, wanted: str = "") -> dict[str, Transcript]:
    """By name, those whose name contains `wanted`. What a broker broke is the last step of its transcript."""
    first = World(address, "first")
    first.await_coordinator()
    first.topic("orders")
    first.topic("other")
    first.close()
    names = [name for name in SCENARIOS if wanted in name]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return dict(zip(names, pool.map(lambda name: run_scenario(address, name), names), strict=True))


def run_scenario(address: str, name: str) -> Transcript:
    function, version = SCENARIOS[name]
    world = World(address, name)
    try:
        function(world, version)
        return world.transcript()
    except Exception:
        return [*world.transcript(), Step("the scenario broke", traceback.format_exc())]
    finally:
        world.close()
