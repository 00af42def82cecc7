"""A node whose topics are compressed so slowly that workers prepare half of the batches, when it dies, its disks fail
and its workers are killed: `node_ledger` says what has to hold.

A failure prints its seed: `live(seed, syncs_everything)` shows it again.
"""

import logging

import pytest
from tests.sim.node_life import NodeLife, Plan
from tests.sim.pipelining import PipeliningProducer


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """Silence the log, in which each of the dozens of disk failures here would be reported."""
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


class PreparingLife(NodeLife):
    def __init__(self, seed: int, plan: Plan) -> None:
        super().__init__(seed, plan)
        self.clients += [PipeliningProducer(self.scene, len(self.clients) + n) for n in range(3)]
        self.prepared = self.killed = self.ended_early = 0

    def step(self) -> None:
        super().step()
        workers = self.world.batch_workers
        if workers.under_way:
            self.prepared += 1
            if self.random.random() < 0.02:
                self.killed += 1
                workers.kill(workers.under_way[0])

    def die(self) -> None:
        self.ended_early += bool(self.world.batch_workers.under_way)
        super().die()


def live(seed: int, syncs_everything: bool, lives: int = 4) -> PreparingLife:
    life = PreparingLife(seed, Plan(syncs_everything, lives=lives, compresses=True))
    life.run()
    return life


@pytest.mark.parametrize("syncs_everything", [False, True])
def test_nothing_is_lost_out_of_order_or_twice(syncs_everything: bool) -> None:
    lived = [live(seed, syncs_everything) for seed in range(3)]
    assert all(client.heard > 2 for life in lived for client in life.clients), "everybody got something done"
    assert sum(life.prepared for life in lived) > 500
    assert sum(life.killed for life in lived) > 5
    assert sum(life.ended_early for life in lived) > 3, "the node died with batches under way"
