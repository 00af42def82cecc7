"""A dumb cluster and dumb drivers for the two-phase commit of the Spark sink, whose drivers may die at any step.

A transaction holds one tag, (batch, task, run); a consumer would see the tags of committed transactions. A driver is a
generator that stops before every effect: the test resumes it, forgets it (a crash), or lets another go first (a
zombie).
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field

from pyspark_tidelog.sink.decisions import Batch, Decision, Origin, Transaction, is_in_ledger
from pyspark_tidelog.sink.two_phase import Lost, Refused, Standing, abort, commit

Tag = tuple[int, int, str]


class Died(Exception):
    """The death of the process, which nobody catches but the test."""


class Fenced(Exception):
    pass


@dataclass
class Held:
    producer_id: int
    epoch: int
    state: Standing
    tag: Tag


@dataclass
class Cluster:
    held: dict[str, Held] = field(default_factory=dict)
    visible: list[Tag] = field(default_factory=list)
    ledger: Decision | None = None
    decided: list[Decision] = field(default_factory=list)
    owner: int = 0  # the epoch whose records the ledger accepts
    commits_left: int | None = None  # EndTxns that are left until the driver dies among them
    topics: dict[str, str] = field(default_factory=dict)  # topic ids by name

    def begin(self, transactional_id: str, tag: Tag) -> Transaction:
        """Begin a transaction, as InitProducerId and the first write do; an open one of the same id is aborted."""
        former = self.held.get(transactional_id)
        epoch = 0 if former is None else former.epoch + 2
        producer_id = len(self.held) if former is None else former.producer_id
        self.held[transactional_id] = Held(producer_id, epoch, Standing.OPEN, tag)
        return Transaction(transactional_id, producer_id, epoch)

    def time_out(self) -> None:
        for each in self.held.values():
            if each.state is Standing.OPEN:
                each.state, each.epoch = Standing.ABORTED, each.epoch + 1

    def end(self, each: Transaction, standing: Standing) -> None:
        held = self.held[each.transactional_id]
        is_same = (held.producer_id, held.epoch) == each[1:]
        if is_same and held.state is Standing.OPEN:
            held.state, held.epoch = standing, held.epoch + 1  # as protocol 2 does
            if standing is Standing.COMMITTED:
                self.visible.append(held.tag)

    def open_ids(self) -> list[str]:
        return [name for name, each in self.held.items() if each.state is Standing.OPEN]


class FakeWorld:
    """The cluster as one driver sees it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.epoch = -1

    def fence(self) -> None:
        self.cluster.owner += 1
        self.epoch = self.cluster.owner

    def last_decision(self) -> Decision | None:
        return self.cluster.ledger

    def check_ledger(self) -> None:
        pass

    def gone(self, topic_ids: Mapping[str, str]) -> list[str]:
        return [topic for topic, topic_id in topic_ids.items() if self.cluster.topics.get(topic) != topic_id]

    def record(self, decision: Decision) -> None:
        if self.epoch != self.cluster.owner:
            raise Fenced
        self.cluster.ledger = decision
        self.cluster.decided.append(decision)

    def standings(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        return {each: self._standing(each) for each in transactions}

    def commit(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        listed = list(transactions)
        for each in listed:
            if self.cluster.commits_left == 0:
                self.cluster.commits_left = None
                raise Died
            if self.cluster.commits_left is not None:
                self.cluster.commits_left -= 1
            self.cluster.end(each, Standing.COMMITTED)
        return self.standings(listed)

    def abort(self, transactions: Iterable[Transaction]) -> None:
        for each in transactions:
            self.cluster.end(each, Standing.ABORTED)

    def open_transactions(self, run_id: str | None = None) -> list[Transaction]:
        held = self.cluster.held
        names = [name for name in self.cluster.open_ids() if run_id is None or name.split("-")[0] == run_id]
        return [Transaction(name, held[name].producer_id, held[name].epoch) for name in names]

    def _standing(self, each: Transaction) -> Standing:
        held = self.cluster.held[each.transactional_id]
        if held.state is not Standing.OPEN:
            return held.state
        return Standing.OPEN if (held.producer_id, held.epoch) == each[1:] else Standing.ABORTED


@dataclass
class Checkpoint:
    """The batches that Spark has recorded as planned and committed. A copy goes its own way, with other batches of the
    same numbers."""

    name: str = "checkpoint"
    committed: int = -1  # the last batch that Spark has recorded as committed
    planned: dict[int, str] = field(default_factory=dict)  # the content of batches by number, which a replay reuses

    def plan(self, batch_id: int) -> str:
        return self.planned.setdefault(batch_id, f"{batch_id} of {self.name}")

    def copy(self, name: str) -> "Checkpoint":
        return Checkpoint(name, self.committed, dict(self.planned))

    def rewind(self) -> None:
        """Go back to before the last batch, which will be planned anew."""
        self.planned.pop(self.committed, None)
        self.committed = max(-1, self.committed - 1)
        self.name += "'"


@dataclass
class Query:
    """The state that the drivers of one query share: the cluster, and Spark's checkpoint."""

    batches: int
    tasks: int
    cluster: Cluster = field(default_factory=Cluster)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    lost: list[int] = field(default_factory=list)  # batches that a driver reported as lost
    retries: set[tuple[int, int]] = field(default_factory=set)  # (batch, task) whose first attempt is killed
    losing_answers: int = 0  # the answers to this many decision records are lost
    goes_on: bool = False  # the caller of the commit catches its error, and writes the next batch in the same run
    taken_note_of: list[tuple[int, str]] = field(default_factory=list)  # number and content of each committed batch
    refused: int = 0

    def driver(self, run: str, checkpoint: Checkpoint | None = None) -> Generator[None, None, None]:
        """Run a driver. It ends when all batches are committed, or with an error, as Spark's query would."""
        checkpoint = checkpoint or self.checkpoint
        batch_id = checkpoint.committed + 1
        while batch_id < self.batches:
            content = checkpoint.plan(batch_id)
            batch = yield from self._write(run, batch_id, content)
            batch = batch._replace(former={number: checkpoint.planned[number] for number in range(batch_id)})
            try:
                yield from self._commit(batch)
            except TimeoutError:
                if not self.goes_on or batch_id == self.batches - 1:
                    raise
            self.taken_note_of.append((batch_id, content))
            yield
            checkpoint.committed = max(checkpoint.committed, batch_id)
            batch_id += 1

    def _write(self, run: str, batch_id: int, content: str) -> Generator[None, None, Batch]:
        transactions: list[Transaction] = []
        was_skipped = was_retried = False
        for task in range(self.tasks):
            yield
            if is_in_ledger(self.cluster.ledger, batch_id, ""):
                was_skipped = True
                continue
            tag = (batch_id, task, f"{run}: {content}")
            name = f"{run}-{batch_id % 2}-{task}"
            found = self.cluster.begin(name, tag)
            if (batch_id, task) in self.retries:
                was_retried = True
                yield
                found = self.cluster.begin(f"{name}-1", tag)
            transactions.append(found)
        return Batch(batch_id, run, tuple(transactions), was_skipped, was_retried, origin=Origin("query", content))

    def _commit(self, batch: Batch) -> Generator[None, None, None]:
        world = FakeWorld(self.cluster)
        try:
            for step in commit(world, batch):
                yield
                if step.what == "commit" and self.losing_answers:  # the record is written, but its writer does not know
                    self.losing_answers -= 1
                    raise TimeoutError
        except Died:
            raise
        except Exception as error:
            if isinstance(error, Lost):
                self.lost.append(error.decision.batch_id)
            self.refused += isinstance(error, Refused)
            for _ in abort(world, batch):
                yield
            raise
