"""How a batch becomes visible once, whatever dies on the way. Pure: decisions in, steps out; `transactions` does them.

Each task writes in a transaction of its own and leaves it open. The driver's commit is

    fence -> read the ledger -> decide -> [finish the last decision] -> require -> list strays
          -> record the decision -> commit every transaction -> abort the strays

and the one moment that counts is `record`: before it the batch is not decided, and its transactions can only be
aborted; after it they can only be committed, by whoever comes along. The ledger takes a record only from the last
driver that fenced, so between reading and recording nobody else has decided.

What makes it safe with two drivers of one query (one of them believed dead) is that transactional ids are of a *run*,
of an *attempt* of a task, and of even or odd batches: nobody begins a transaction under an id whose open transaction
another may have decided to commit, and those of the last decision stand as it left them until the next is made. Two
drivers may write the same batch; the first to record wins, and the other aborts its own.

Strays are open transactions of the query that no decision names: tasks that were killed, runs that died. They are
listed before our record, when nobody can have begun the next batch, and aborted after it, by producer id and epoch: so
what another driver begins in between is not among them.
"""

from collections.abc import Generator, Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int


class Decision(NamedTuple):
    """The batch is made of these transactions, and of no others."""

    batch_id: int
    run_id: str
    transactions: tuple[Transaction, ...]


class Standing(Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"  # or taken over by another producer
    FORGOTTEN = "forgotten"  # the coordinator does not know the transactional id (any more)


class Batch(NamedTuple):
    """What the tasks of one batch handed over."""

    batch_id: int
    run_id: str
    transactions: tuple[Transaction, ...]
    was_skipped: bool = False  # a task found the batch in the ledger, and wrote nothing
    may_have_strays: bool = False  # an attempt was repeated, or transactions never time out
    accepted_loss: int | None = None  # the batch of which the operator knows that part of it is lost
    is_job: bool = False  # the query is this batch and nothing else: no other run of it will come and tidy up


class Step(NamedTuple):
    """`what` is one of the names below; `decision` or `transactions` say of which."""

    what: str
    decision: Decision | None = None
    transactions: tuple[Transaction, ...] = ()


FINISH = "finish"  # commit every transaction of an older decision, as far as the coordinator still knows it
REQUIRE = "require"  # each of the transactions is open
LIST_STRAYS = "list strays"  # all but these
RECORD = "record"
COMMIT = "commit"
ABORT = "abort"
ABORT_STRAYS = "abort strays"
LEDGER_LOST = "ledger lost"


def decide(last: Decision | None, batch: Batch) -> list[Step]:
    """What is to be done when Spark says commit."""
    if last is not None and last.batch_id >= batch.batch_id:
        return _decided_before(last, batch)
    if batch.was_skipped:
        return [Step(ABORT, transactions=batch.transactions), Step(LEDGER_LOST)]
    decision = Decision(batch.batch_id, batch.run_id, batch.transactions)
    steps = [Step(REQUIRE, transactions=batch.transactions)]
    is_first_of_run = last is None or last.run_id != batch.run_id
    if last is not None and is_first_of_run:
        steps.insert(0, Step(FINISH, last))
    if is_first_of_run or batch.may_have_strays:
        known = batch.transactions + (() if last is None else last.transactions)
        steps.append(Step(LIST_STRAYS, transactions=known))
    return [*steps, Step(RECORD, decision), Step(COMMIT, decision), Step(ABORT_STRAYS)]


def _decided_before(last: Decision, batch: Batch) -> list[Step]:
    """A replay, or another driver was quicker. (Of batches before the last every transaction is finished: the next
    batch begins after the commit of the one before has returned.)"""
    steps = [Step(COMMIT, last)] if last.batch_id == batch.batch_id else []
    ours = tuple(each for each in batch.transactions if each not in last.transactions)
    return [*steps, Step(ABORT, transactions=ours)] if ours else steps


def withdraw(last: Decision | None, batch: Batch) -> list[Step]:
    """What is to be done when Spark says abort: it says so after a commit that failed half-way, too."""
    decided = () if last is None else last.transactions
    if batch.is_job:
        return [Step(LIST_STRAYS, transactions=decided), Step(ABORT_STRAYS)]
    ours = tuple(each for each in batch.transactions if each not in decided)
    return [Step(ABORT, transactions=ours)] if ours else []


class NotOpen(Exception):
    """Before the decision: nothing is visible, and the batch can be written again."""

    def __init__(self, batch_id: int, transactions: Sequence[Transaction]) -> None:
        super().__init__(batch_id, tuple(transactions))
        self.batch_id, self.transactions = batch_id, tuple(transactions)


class Lost(Exception):
    """After the decision: part of the batch was aborted though it was to be committed."""

    def __init__(self, decision: Decision, transactions: Sequence[Transaction]) -> None:
        super().__init__(decision, tuple(transactions))
        self.decision, self.transactions = decision, tuple(transactions)


class LedgerLost(Exception):
    """A task has seen the batch in the ledger, and now it is not there."""


class World(Protocol):
    """The ledger of one query, and the coordinators of its transactions."""

    def fence(self) -> None:
        """From now on no other driver's record is taken."""

    def last_decision(self) -> Decision | None: ...

    def record(self, decision: Decision) -> None:
        """Durable when it returns. Refused if another driver has fenced since."""

    def standings(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]: ...

    def commit(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        """Safe to repeat. How each of them stands then."""

    def abort(self, transactions: Iterable[Transaction]) -> None:
        """Those that are still open under that producer id and epoch."""

    def open_transactions(self) -> list[Transaction]:
        """Of the query, of whatever run."""


Running = Generator[Step, None, None]


def commit(world: World, batch: Batch) -> Running:
    """Yields each step before it is done: whoever drives it may stop there for good, as a crash does."""
    yield from _run(world, batch, is_commit=True)


def abort(world: World, batch: Batch) -> Running:
    yield from _run(world, batch, is_commit=False)


def _run(world: World, batch: Batch, *, is_commit: bool) -> Running:
    yield Step("fence")
    world.fence()
    yield Step("read")
    last = world.last_decision()
    strays: list[Transaction] = []
    for step in decide(last, batch) if is_commit else withdraw(last, batch):
        yield step
        if step.what == LIST_STRAYS:
            strays = [each for each in world.open_transactions() if each not in step.transactions]
        elif step.what == ABORT_STRAYS:
            world.abort(strays)
        else:
            _do(world, batch, step)


def _do(world: World, batch: Batch, step: Step) -> None:
    if step.what == REQUIRE:
        _require(world, batch)
    elif step.what == ABORT:
        world.abort(step.transactions)
    elif step.what == LEDGER_LOST:
        raise LedgerLost(batch.batch_id)
    elif step.decision is not None:
        if step.what == RECORD:
            world.record(step.decision)
        else:
            _commit(world, batch, step.decision, may_be_forgotten=step.what == FINISH)


def _require(world: World, batch: Batch) -> None:
    standings = world.standings(batch.transactions)
    closed = [each for each in batch.transactions if standings[each] is not Standing.OPEN]
    if closed:
        world.abort(batch.transactions)
        raise NotOpen(batch.batch_id, closed)


def _commit(world: World, batch: Batch, decision: Decision, *, may_be_forgotten: bool) -> None:
    """All that can be, before the rest is lamented. A coordinator forgets a transactional id days after its last
    transaction: of an older batch that is no news, of one that is replayed nobody could tell how it ended."""
    fine = (Standing.COMMITTED, Standing.FORGOTTEN) if may_be_forgotten else (Standing.COMMITTED,)
    standings = world.commit(decision.transactions)
    lost = [each for each in decision.transactions if standings[each] not in fine]
    if lost and decision.batch_id != batch.accepted_loss:
        raise Lost(decision, lost)
