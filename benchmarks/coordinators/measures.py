"""What is done to a coordinator, one function a line of the table; each returns its figures by name.

Commits are those of simple consumers (no generation): what is measured is the path of an offset to the log and back,
not a group's life. The members of a group send their next heartbeat as soon as they have the answer to the last: with
any pause it would be the pause that is measured. So it would be with `group.consumer.assignment.interval.ms` at its
default of a second: it is 0 for both brokers, and the heartbeat interval that they tell their members is the same, too.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.broker.load import Load
from benchmarks.broker.measures import CPU_REQUEST, P99, RATE, Figures
from benchmarks.broker.systems import System
from benchmarks.coordinators.admin import AdminConnection
from benchmarks.coordinators.frames import (
    NO_PRODUCER,
    OFFSET_FETCH_VERSION,
    SequencedFrames,
    commit_frames,
    sequenced_frames,
)
from benchmarks.coordinators.joining import JoinFigures, JoinLoad
from benchmarks.coordinators.transactions import PARTITIONS as TRANSACTION_PARTITIONS
from benchmarks.coordinators.transactions import Transactions
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

SETTINGS = {
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "group.consumer.assignment.interval.ms": "0",
}
CONNECTIONS = 32
MEMBERS, PARTITIONS_EACH, JOINS = 500, 2, 3
COMMITTED, PRODUCED, IN_TRANSACTIONS, JOINED = "committed", "produced", "in-transactions", "joined"
TRANSACTIONS_S, CPU_TRANSACTION = "transactions/s", "CPU us a transaction"
SECONDS, CPU_SECONDS, HEARTBEATS = "seconds", "CPU s", "heartbeats"
IDEMPOTENT_CPU = "CPU, of without idempotence"
READY_SECONDS_MAX = 60
KEYS = 500  # more than enough to ask every coordinator


@dataclass(slots=True)
class CoordinatorSizes:
    seconds: float
    rounds: int
    warm_ups: int
    groups: int  # of a thousand offsets each, for the start


FULL = CoordinatorSizes(3.0, 5, 4, 1_000)
QUICK = CoordinatorSizes(1.0, 2, 3, 200)


def create_topic(system: System, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": system.bootstrap})
    with suppress(KafkaException):
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)


def await_coordinators(system: System) -> None:
    """Wait for all coordinators: the first question has their topics created, and each has its log to load."""
    with AdminConnection(system.port) as admin:
        for key_type in (0, 1):
            _wait_for(system, partial(_is_found, admin, key_type))
        for index in range(KEYS):
            _wait_for(system, partial(_is_loaded, admin, f"any-{index}"))


def _is_found(admin: AdminConnection, key_type: int) -> bool:
    return not admin.ask(FindCoordinatorRequest(key="bench", key_type=key_type), 2).error_code


def _is_loaded(admin: AdminConnection, group_id: str) -> bool:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=[])])
    return not admin.ask(request, OFFSET_FETCH_VERSION).groups[0].error_code


def _wait_for(system: System, is_there: Callable[[], bool]) -> None:
    until = time.monotonic() + READY_SECONDS_MAX
    while not is_there():
        if time.monotonic() > until:
            raise RuntimeError(f"{system.name}: a coordinator is not there after {READY_SECONDS_MAX} s")
        time.sleep(0.05)


@dataclass(slots=True)
class CoordinatorBench:
    """One broker under the load tools."""

    system: System
    load: Load
    joining: JoinLoad
    sizes: CoordinatorSizes
    librdkafka: Transactions | None = None
    java: Transactions | None = None
    groups: int = field(default=0)

    def prepare(self) -> None:
        create_topic(self.system, COMMITTED, CONNECTIONS)
        create_topic(self.system, PRODUCED, 1)
        create_topic(self.system, IN_TRANSACTIONS, TRANSACTION_PARTITIONS)
        create_topic(self.system, JOINED, MEMBERS * PARTITIONS_EACH)
        await_coordinators(self.system)

    def commits(self, groups: list[str]) -> Figures:
        frames = commit_frames(groups, COMMITTED)
        cpu = self.system.cpu_seconds()
        done = self.load.produce(self.system.port, frames, CONNECTIONS, 1, self.sizes.seconds)
        cpu = self.system.cpu_seconds() - cpu
        return {RATE: done.requests / done.seconds, CPU_REQUEST: cpu / done.requests * 1e6, P99: done.p99_us}

    def transactions(self, client: Transactions | None) -> Figures:
        assert client is not None
        cpu = self.system.cpu_seconds()
        done = client.run(self.sizes.seconds)
        cpu = self.system.cpu_seconds() - cpu
        return {TRANSACTIONS_S: done.transactions / done.seconds, CPU_TRANSACTION: cpu / done.transactions * 1e6}

    def idempotent_produce(self) -> Figures:
        """Measure idempotent producers beside others: acks=all, one record, 32 connections."""
        plain, _rate = self._produce(sequenced_frames(PRODUCED, [NO_PRODUCER] * CONNECTIONS))
        idempotent, rate = self._produce(sequenced_frames(PRODUCED, self._producer_ids()))
        return {RATE: rate, CPU_REQUEST: idempotent, IDEMPOTENT_CPU: idempotent / plain}

    def _produce(self, frames: SequencedFrames) -> tuple[float, float]:
        """Return CPU microseconds a request, and requests a second."""
        cpu = self.system.cpu_seconds()
        done = self.load.produce(
            self.system.port, frames.frame, CONNECTIONS, 1, self.sizes.seconds, sequence_at=frames.sequence_at
        )
        cpu = self.system.cpu_seconds() - cpu
        return cpu / done.requests * 1e6, done.requests / done.seconds

    def _producer_ids(self) -> list[int]:
        """Return new producer ids for each run, because each begins with sequence 0."""
        found: list[int] = []
        with AdminConnection(self.system.port) as admin:
            while len(found) < CONNECTIONS:
                request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
                answer = admin.ask(request, 1)
                if answer.error_code:  # the next block of ids is on its way
                    time.sleep(0.05)
                else:
                    found.append(answer.producer_id)
        return found

    def join(self) -> Figures:
        """Return the median of several joins: one is over in a fraction of a second, which any hiccup of the machine
        doubles."""
        cpu = self.system.cpu_seconds()
        done = sorted((self._join() for _ in range(JOINS)), key=lambda joined: joined.seconds)
        cpu = (self.system.cpu_seconds() - cpu) / JOINS  # with their leaving
        return {SECONDS: done[JOINS // 2].seconds, CPU_SECONDS: cpu, HEARTBEATS: done[JOINS // 2].heartbeats}

    def _join(self) -> JoinFigures:
        self.groups += 1
        partitions = MEMBERS * PARTITIONS_EACH
        return self.joining.join(self.system.port, f"joined-{self.groups}", JOINED, MEMBERS, partitions, 0)


Measure = Callable[[CoordinatorBench], Figures]
COMMITS = "offset commits, 32 connections, a partition each"
COMMITS_GROUPS = "the same, a group each"
LIBRDKAFKA, JAVA = "transactions of 10 records, librdkafka", "the same, Java client"
IDEMPOTENT = "idempotent one-record produce, 32 connections"
JOIN = "500 members join a KIP-848 group"

MEASURES: dict[str, Measure] = {
    COMMITS: lambda bench: bench.commits(["bench"] * CONNECTIONS),
    COMMITS_GROUPS: lambda bench: bench.commits([f"bench-{index}" for index in range(CONNECTIONS)]),
    LIBRDKAFKA: lambda bench: bench.transactions(bench.librdkafka),
    JAVA: lambda bench: bench.transactions(bench.java),
    IDEMPOTENT: lambda bench: bench.idempotent_produce(),
    JOIN: lambda bench: bench.join(),
}
