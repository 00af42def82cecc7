"""The power fails, or the process dies, after every single file-system operation in the life of a voter: formatting,
electing, writing, snapshots, retention, stopping. Then it starts again, and:

- what was acknowledged is there; the state is that after some prefix of the requests, none lost in between
- the epoch is higher than any that was ever seen
- the image of the committed log agrees with the machine, and both with a fresh replay
- it goes on: another request is acknowledged

Nothing between start and stop waits for the disk.

A failure prints its seed and the operation; `run_one(seed, crash_at, ends_by_power, standalone)` shows it again.
"""

import random
from typing import Any

import pytest
from tests.sim.metadata_node import LOG_DIR, NOBODY, RESOURCE, STATIC, MetadataNode, format_node
from tests.sim.test_log_crashes import NEVER, CrashingTrace, PowerLoss

from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.meta_properties import read_meta_properties

# Small enough for rolls, snapshots by size and retention to come within a few requests.
CONFIG = MetadataLogConfig(segment_bytes=400, bytes_between_snapshots_max=400, retention_bytes=1500)
REQUESTS = 6  # turns with requests, in each of the lives


class Life:
    """One node that is started, stopped in order and started again, unless it crashes before."""

    def __init__(self, seed: int, crash_at: int, standalone: bool) -> None:
        self.random = random.Random(seed)
        self.clock = SimClock()
        settings = {"/disk": DiskSettings(short_write_chance=0.2, stale_is_intact=False)}
        self.trace = CrashingTrace(crash_at)
        self.fs = SimFileSystem(self.clock, seed, settings, trace=self.trace)
        self.standalone = standalone
        self.submitted: list[tuple[str, str]] = []
        self.answers: list[list[Any]] = []
        self.nodes: list[MetadataNode] = []
        self.has_snapshot = False

    @property
    def epoch(self) -> int:
        """The highest epoch that any node has been in."""
        return max((node.quorum.epoch for node in self.nodes), default=0)

    def node(self) -> MetadataNode:
        self.nodes.append(MetadataNode(self.fs, self.clock, CONFIG, NOBODY if self.standalone else STATIC))
        return self.nodes[-1]

    def run(self) -> None:
        format_node(self.fs, self.clock, standalone=self.standalone)
        for _ in range(2):
            node = self.node()
            self._serve(node.start())
            node.stop()

    def _serve(self, node: MetadataNode) -> None:
        for _ in range(REQUESTS):
            for _ in range(self.random.randint(1, 3)):
                request = (f"key{self.random.randrange(4)}", str(len(self.submitted)))
                self.submitted.append(request)
                self.answers.append(node.submit(request))
            self.random.choice([node.turn, node.turn, node.settle])()
            self.clock.advance(self.random.randint(0, 15))
            latest = node.log.latest_snapshot
            self.has_snapshot = self.has_snapshot or (latest is not None and latest.offset > 0)

    def acknowledged(self) -> int:
        """Return how many requests were answered, counted from the first; they have to be answered in order."""
        told = [bool(answers) for answers in self.answers]
        count = told.index(False) if False in told else len(told)
        assert not any(told[count:]), "an answer overtook another"
        for (name, _), answers in zip(self.submitted[:count], self.answers, strict=False):
            assert answers == [f"{name} is set"]
        return count


def state_after(requests: list[tuple[str, str]]) -> dict[str, str]:
    return dict(requests)


def check(life: Life, acknowledged: int) -> None:
    if read_meta_properties(life.fs, LOG_DIR) is None:
        assert not life.submitted, "a formatted directory is formatted for good"
        format_node(life.fs, life.clock, standalone=life.standalone)
    epoch_before = life.epoch
    node = life.node().start()
    assert node.quorum.epoch > epoch_before
    assert node.machine.replicated.is_active
    found = node.settings.values
    possible = [life.submitted[:count] for count in range(acknowledged, len(life.submitted) + 1)]
    assert found in [state_after(each) for each in possible], "acknowledged requests are lost"
    assert dict(node.follower.image.configs.get(RESOURCE, {})) == found
    assert node.follower.image.provenance.offset == node.log.end_offset - 1
    node.validate()
    assert node.ask(("after", "the crash")) == "after is set"
    life.submitted = [*possible[[state_after(each) for each in possible].index(found)], ("after", "the crash")]


def run_one(seed: int, crash_at: int, ends_by_power: bool, standalone: bool) -> bool:
    """Run the life with a crash, restart, and check; return whether the crash came before the life's end."""
    life = Life(seed, crash_at, standalone)
    crashed = False
    try:
        life.run()
    except PowerLoss:
        crashed = True
    acknowledged = life.acknowledged()
    life.trace.crash_at = NEVER
    for _ in range(2):  # the second start finds the files that the first one left
        life.fs.lose_power() if ends_by_power else life.fs.kill()
        check(life, acknowledged)
        acknowledged = len(life.submitted)
    if not crashed:
        assert acknowledged > REQUESTS
        assert life.has_snapshot, "the workload takes snapshots"
    return crashed


@pytest.mark.parametrize(("seed", "ends_by_power", "standalone"), [(0, True, False), (1, True, True), (2, False, True)])
def test_a_crash_after_operations_of_every_kind(seed: int, ends_by_power: bool, standalone: bool) -> None:
    """Crash at every seventh operation, with a different first one for each seed: all of them take a minute
    (`every_operation`)."""
    count = every_operation(seed, ends_by_power, standalone, first=1 + seed, stride=7)
    assert count > 200, "the workload does something"


def every_operation(seed: int, ends_by_power: bool, standalone: bool, first: int = 1, stride: int = 1) -> int:
    crash_at = first
    while True:
        try:
            if not run_one(seed, crash_at, ends_by_power, standalone):
                return crash_at
        except Exception as error:
            raise AssertionError(f"run_one({seed}, {crash_at}, {ends_by_power}, {standalone})") from error
        crash_at += stride
