"""A round: input, workers, faults while they work, and the check of the outcome.

    half of the input -> workers start -> the other half, while the faults happen -> drained -> workers killed -> check

A worker that ends by itself because its producer can not go on is restarted, as a supervisor in production would do.
One that fails in another way fails the round.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.soak.copier import ENDED, RECOVERY
from tests.soak.plan import KEYS, PARTITIONS, RECORDS, WORKERS, Fault, Kind, Plan
from tests.soak.processes import Node, Programs, SoakFailed, Worker
from tests.soak.verdict import check

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition as InputPartition

DRAIN_S_MAX = 60
# The longest that a fault waits for commits: with all workers dead or in a rebalance there are none.
COMMITS_S_MAX = 2.5
FLUSH_S_MAX = 30
# The time in which a thawed worker may do harm.
AWAKE_S = 0.3


@dataclass(slots=True)
class Outcome:
    seconds: float
    commits: int
    aborts: int
    ended: int  # how often a worker ended because it could not go on


class Round:
    def __init__(self, plan: Plan, node: Node, programs: Programs, directory: Path) -> None:
        self._plan, self._node = plan, node
        settings = {"bootstrap.servers": node.bootstrap, "log_level": 0, **RECOVERY}
        self._admin = AdminClient(settings)
        self._logs = directory / plan.name
        self._logs.mkdir()
        self._workers = [
            Worker(programs.command(plan, index, node.bootstrap), self._logs / f"worker-{index}.log")
            for index in range(WORKERS)
        ]
        self._feed = Producer({**settings, "enable.idempotence": True})
        self._ended = 0
        self._thaw_at: dict[int, float] = {}
        self._awake_until = 0.0

    def run(self) -> Outcome:
        began = time.monotonic()
        try:
            self._prepare()
            for worker in self._workers:
                worker.start()
            self._produce(RECORDS // 2, RECORDS)
            for fault in self._plan.faults:
                self._await_commits(fault)
                self._inject(fault)
            if self._feed.flush(FLUSH_S_MAX):
                raise SoakFailed("the input could not be produced")
            self._drain()
        finally:
            for worker in self._workers:
                worker.kill()
        check(self._node.bootstrap, self._plan)
        self._forget()
        return Outcome(time.monotonic() - began, self._commits(), self._count(b" aborted "), self._ended)

    # The work

    def _prepare(self) -> None:
        topics = [NewTopic(name, PARTITIONS, 1) for name in (self._plan.input, self._plan.output)]
        for future in self._admin.create_topics(topics).values():
            future.result()
        beginning = [TopicPartition(self._plan.input, partition, 0) for partition in range(PARTITIONS)]
        offsets = ConsumerGroupTopicPartitions(f"{self._plan.name}-group", beginning)
        for altered in self._admin.alter_consumer_group_offsets([offsets]).values():
            altered.result()
        self._produce(0, RECORDS // 2)
        if self._feed.flush(FLUSH_S_MAX):
            raise SoakFailed("the input could not be produced")

    def _produce(self, first: int, end: int) -> None:
        for number in range(first, end):
            key = number % KEYS
            self._feed.produce(self._plan.input, str(number), str(key), key % PARTITIONS)

    def _drain(self) -> None:
        ends = [RECORDS // PARTITIONS] * PARTITIONS
        self._until(lambda: self._is_awake() and self._committed() == ends, DRAIN_S_MAX, pause_s=0.1)
        if (found := self._committed()) != ends:
            raise SoakFailed(f"not drained after {DRAIN_S_MAX} s: committed {found} of {ends}")

    def _is_awake(self) -> bool:
        return not self._thaw_at and time.monotonic() > self._awake_until

    def _committed(self) -> list[int]:
        """Return the group's offsets, by our own client: librdkafka's admin may abort the whole process when its broker
        goes in the middle of a request (an assertion in rd_kafka_enq_once_del_source_return)."""
        places = [InputPartition(self._plan.input, partition) for partition in range(PARTITIONS)]
        try:
            with Client(self._node.bootstrap, request_timeout_ms=2_000, retry_timeout_ms=300) as client:
                found = Admin(client).list_group_offsets(f"{self._plan.name}-group", places, require_stable=True)
        except ClientError:  # the coordinator is not back yet
            return []
        return [found[place].offset if place in found else -1 for place in places]

    def _forget(self) -> None:
        for future in self._admin.delete_topics([self._plan.input, self._plan.output]).values():
            future.result()

    # The faults

    def _await_commits(self, fault: Fault) -> None:
        wanted = self._commits() + fault.after_commits
        self._until(lambda: self._commits() >= wanted, COMMITS_S_MAX)
        time.sleep(fault.delay_ms / 1000)

    def _inject(self, fault: Fault) -> None:
        worker = self._workers[fault.worker]
        if fault.kind is Kind.WORKER_FROZEN:
            worker.freeze()
            self._thaw_at[fault.worker] = time.monotonic() + fault.pause_ms / 1000
            return
        if fault.kind is not Kind.WORKER_KILLED:
            self._node.kill()
        if fault.kind is not Kind.BROKER_KILLED:
            worker.kill()
            worker.start()
        if fault.kind is not Kind.WORKER_KILLED:
            time.sleep(fault.pause_ms / 1000)
            self._node.start()

    # Watching

    def _until(self, is_so: Callable[[], bool], seconds: float, pause_s: float = 0.02) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not is_so():
            self._tend()
            time.sleep(pause_s)

    def _tend(self) -> None:
        for index, worker in enumerate(self._workers):
            if self._thaw_at.get(index, time.monotonic() + 1) <= time.monotonic():
                del self._thaw_at[index]
                worker.thaw()
                self._awake_until = time.monotonic() + AWAKE_S
            code = worker.exit_code()
            if code is None:
                continue
            if code != ENDED:
                raise SoakFailed(f"worker {index} failed with exit code {code}: see {worker.log}")
            self._ended += 1
            worker.start()

    def _commits(self) -> int:
        return sum(worker.commits() for worker in self._workers)

    def _count(self, word: bytes) -> int:
        return sum(worker.log.read_bytes().count(word) for worker in self._workers)
