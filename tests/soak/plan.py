"""The plan of a round, drawn from a seed: the same seed and number give the same program, group and faults.

A seed can not fix when the processes get to run, so faults are timed by the work that is done (a number of transactions
committed by the workers together) and only then by the clock.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

PARTITIONS = 3
KEYS = 12
RECORDS = 600
WORKERS = 2
# The most records in a program's transaction, and the longest that it loiters in one, so that faults meet it.
TRANSACTION_RECORDS = 10
LOITER_MS = 25


class Program(StrEnum):
    CONFLUENT = "confluent"
    JAVA = "java"


class Group(StrEnum):
    """The protocol by which the workers share the input."""

    RANGE = "classic, range"
    COOPERATIVE = "classic, cooperative"
    CONSUMER = "consumer"

    @property
    def protocol(self) -> str:
        return "consumer" if self is Group.CONSUMER else "classic"


class Kind(StrEnum):
    WORKER_KILLED = "kill -9 worker"
    BROKER_KILLED = "kill -9 broker"
    BOTH_KILLED = "kill -9 broker and worker"
    # It wakes up when another worker has its partitions, and must be fenced.
    WORKER_FROZEN = "freeze worker"


@dataclass(slots=True)
class Fault:
    kind: Kind
    worker: int
    after_commits: int  # commits of all workers since the fault before
    delay_ms: int  # after those commits
    pause_ms: int  # until the broker is started again, or the worker thawed

    def __str__(self) -> str:
        whom = "" if self.kind is Kind.BROKER_KILLED else f" {self.worker}"
        return f"{self.kind}{whom} at +{self.after_commits} commits +{self.delay_ms} ms"


@dataclass(slots=True)
class Plan:
    seed: int
    number: int
    program: Program
    group: Group
    is_static: bool
    faults: list[Fault] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"soak-{self.seed}-{self.number}"

    @property
    def input(self) -> str:
        return f"{self.name}-in"

    @property
    def output(self) -> str:
        return f"{self.name}-out"

    def __str__(self) -> str:
        return f"{self.program}, {self.group}{', static' if self.is_static else ''}: {'; '.join(map(str, self.faults))}"


def plan(seed: int, number: int, program: Program) -> Plan:
    """Draw the plan of a round. A third of the rounds have a consumer group, and a quarter static members."""
    chance = random.Random(f"{seed}:{number}:{program}")
    group = chance.choice((Group.RANGE, Group.COOPERATIVE, Group.CONSUMER))
    made = Plan(seed, number, program, group, is_static=chance.random() < 0.25)
    made.faults = [_fault(chance, kind) for kind in _kinds(chance)]
    return made


def _kinds(chance: random.Random) -> Iterator[Kind]:
    """Yield the faults of a round: a worker and the broker are killed in every one."""
    yield from chance.sample([Kind.WORKER_KILLED, Kind.BROKER_KILLED], 2)
    if chance.random() < 0.5:
        yield chance.choice([Kind.BOTH_KILLED, Kind.WORKER_FROZEN, Kind.BROKER_KILLED])


def _fault(chance: random.Random, kind: Kind) -> Fault:
    pause_ms = chance.randint(1_200, 2_500) if kind is Kind.WORKER_FROZEN else chance.randint(0, 200)
    return Fault(kind, chance.randrange(WORKERS), chance.randint(0, 15), chance.randint(0, 60), pause_ms)
