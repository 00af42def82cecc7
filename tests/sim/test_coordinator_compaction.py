"""The coordinators' topics are compacted while they are written to: loading the cleaned logs gives the same state as
before. A crash may come at any operation of it."""

import logging
from typing import Any

import pytest
from tests.sim.coordinator_state import are_loaded, durable, shards_of, validate_state
from tests.sim.group_members import SESSION_MS
from tests.sim.test_coordinator_crashes import ShortLife
from tests.sim.test_log_crashes import NEVER

STEPS = 1_200
STRIDE = 37


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


def states(life: ShortLife) -> list[dict[str, Any]]:
    return [durable(shard.machine) for shard in shards_of(life.world)]


def cleaned(life: ShortLife) -> int:
    """Return how many offsets are not in the logs any more, over both topics."""
    gone = 0
    for shard in shards_of(life.world):
        log = shard.partition.log
        found = sum(len(messages) for messages in shard._begin()._loading or [])
        gone += log.log_end_offset - log.log_start_offset - found
    return gone


def settled(life: ShortLife) -> None:
    life.clients = []
    life.world.wait_for(lambda: validate_state(life.world) == 4 or None)


def test_a_reload_after_cleaning_gives_the_same_state() -> None:
    life = ShortLife(5, NEVER)
    life.serve(STEPS)
    settled(life)
    life.world.run(SESSION_MS + 500)  # the cleaner goes on, sessions and transactions time out
    settled(life)
    assert cleaned(life) > 50
    before = states(life)
    for shard in shards_of(life.world):
        shard.drop()
        life.world.running.broker.coordinators.wake(shard.partition)
    life.world.wait_for(lambda: are_loaded(life.world) or None)
    assert states(life) == before
    life.end_by(True)
    life.world.start()
    life.check()
    life.world.kill()


@pytest.mark.parametrize("by_power", [True, False])
def test_a_crash_in_the_middle_of_it(by_power: bool) -> None:
    life = ShortLife(6, NEVER)
    life.serve(STEPS)
    cuts = 0
    for crash_after in range(1, 4 * STRIDE, STRIDE):
        life.trace.crash_at = life.trace.count + crash_after
        cuts += life.cut()
        life.end_by(by_power)
        life.world.start()
        life.check()
    assert cuts > 2
    life.world.kill()
