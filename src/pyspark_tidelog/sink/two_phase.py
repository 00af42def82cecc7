"""How a batch becomes visible once, whatever dies on the way. Pure: decisions in, steps out; `transactions` does them.

Each task writes in a transaction of its own and leaves it open. The driver's commit is

    fence -> read the ledger -> decide -> [finish the last decision] -> require -> list strays
          -> record the decision -> commit every transaction -> abort the strays

and the one moment that counts is `record`: before it the batch is not decided, and its transactions can only be
aborted; after it they can only be committed, by whoever comes along. The ledger takes a record only from the last
driver that fenced, so between reading and recording nobody else has decided.

What the last decision means for the batch is in `decisions`. A replay records it again under its own run: the run that
made it is replaced by that, and is told so at its next commit. What is refused is aborted, never dropped.

What makes it safe with two drivers of one query (one of them believed dead) is that transactional ids are of a *run*,
and of even or odd batches: nobody begins a transaction under an id whose open transaction another may have decided to
commit, and those of the last decision stand as it left them until the next is made. Two drivers may write the same
batch; the first to record wins, and the other aborts its own.

Strays are open transactions of the query that no decision names: tasks that were killed, runs that died. They are
listed before our record, when nobody can have begun the next batch, and aborted after it, by producer id and epoch: so
what another driver begins in between is not among them.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from pyspark_tidelog.sink.decisions import Batch, Decision, Relation, Transaction, adopted, new_decision, relation


class Standing(Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"  # or taken over by another producer
    FORGOTTEN = "forgotten"  # the coordinator does not know the transactional id (any more)


class Step(NamedTuple):
    """`what` is one of the names below; `decision` or `transactions` say of which."""

    what: str
    decision: Decision | None = None
    transactions: tuple[Transaction, ...] = ()
    relation: Relation | None = None


CHECK_LEDGER = "check the ledger"  # that its topic is fit to keep decisions
FINISH = "finish"  # commit every transaction of an older decision, as far as the coordinator still knows it
REQUIRE = "require"  # each of the transactions is open
LIST_STRAYS = "list strays"  # all but these
RECORD = "record"
COMMIT = "commit"
ABORT = "abort"
ABORT_STRAYS = "abort strays"
SETTLE = "settle"  # commit what can be of a decision that is not ours to answer for
REFUSE = "refuse"
LEDGER_LOST = "ledger lost"


def decide(last: Decision | None, batch: Batch) -> list[Step]:
    """What is to be done when Spark says commit."""
    found = relation(last, batch)
    if found is Relation.NEXT:
        return _next(last, batch)
    assert last is not None, "what is related to no decision is the next"
    if found is Relation.OWN:
        return [Step(COMMIT, last)]
    if found is Relation.REPLAY:
        strays = Step(LIST_STRAYS, transactions=last.transactions)  # what this run has written is among them
        record = Step(RECORD, adopted(last, batch))
        return [Step(CHECK_LEDGER), strays, Step(COMMIT, last), record, Step(ABORT_STRAYS)]
    ours = tuple(each for each in batch.transactions if each not in last.transactions)
    return [Step(SETTLE, last), Step(ABORT, transactions=ours), Step(REFUSE, last, relation=found)]


def _next(last: Decision | None, batch: Batch) -> list[Step]:
    if batch.was_skipped:
        return [Step(ABORT, transactions=batch.transactions), Step(LEDGER_LOST)]
    decision = new_decision(last, batch)
    steps = [Step(REQUIRE, transactions=batch.transactions)]
    is_first_of_run = last is None or last.run_id != batch.run_id
    if last is not None:  # of the same run, too: its commit may have failed, and whoever called it may have gone on
        steps.insert(0, Step(FINISH, last))
    if is_first_of_run:
        steps.insert(0, Step(CHECK_LEDGER))
    if is_first_of_run or batch.may_have_strays:
        known = batch.transactions + (() if last is None else last.transactions)
        steps.append(Step(LIST_STRAYS, transactions=known))
    return [*steps, Step(RECORD, decision), Step(COMMIT, decision), Step(ABORT_STRAYS)]


def withdraw(last: Decision | None) -> list[Step]:
    """What is to be done when Spark says abort: it says so after a commit that failed half-way, too. Tasks that were
    killed have handed nothing over, so all is aborted that the run has open and that is not decided."""
    return [Step(LIST_STRAYS, transactions=() if last is None else last.transactions), Step(ABORT_STRAYS)]


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


class TopicGone(Exception):
    """A topic that the batch was written to was deleted since, and made anew or not: its rows went with it."""

    def __init__(self, batch_id: int, topics: Sequence[str], *, is_decided: bool) -> None:
        super().__init__(batch_id, tuple(topics))
        self.batch_id, self.topics, self.is_decided = batch_id, tuple(topics), is_decided


class Refused(Exception):
    """The batch is not the one that can come after the last decision."""

    def __init__(self, why: Relation, last: Decision, batch: Batch) -> None:
        super().__init__(why, last, batch)
        self.why, self.last, self.batch = why, last, batch


class LedgerLost(Exception):
    """A task has seen the batch in the ledger, and now it is not there."""


class World(Protocol):
    """The ledger of one query, and the coordinators of its transactions."""

    def fence(self) -> None:
        """From now on no other driver's record is taken."""

    def last_decision(self) -> Decision | None: ...

    def check_ledger(self) -> None:
        """Refuse a topic that would not keep what is recorded in it."""

    def record(self, decision: Decision) -> None:
        """Durable when it returns. Refused if another driver has fenced since."""

    def standings(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]: ...

    def commit(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        """Commit each transaction; return the state each one is in afterwards. Safe to repeat."""

    def abort(self, transactions: Iterable[Transaction]) -> None:
        """Abort those that are still open under that producer id and epoch."""

    def open_transactions(self, run_id: str | None = None) -> list[Transaction]:
        """The open transactions of the query, of one run or of all."""

    def gone(self, topic_ids: Mapping[str, str]) -> list[str]:
        """The topics that are not there any more under these ids."""


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
    for step in decide(last, batch) if is_commit else withdraw(last):
        yield step
        if step.what == LIST_STRAYS:
            listed = world.open_transactions(None if is_commit else batch.run_id)
            strays = [each for each in listed if each not in step.transactions]
        elif step.what == ABORT_STRAYS:
            world.abort(strays)
        else:
            _do(world, batch, step)


def _do(world: World, batch: Batch, step: Step) -> None:
    if step.what == CHECK_LEDGER:
        world.check_ledger()
    elif step.what == ABORT:
        world.abort(step.transactions)
    elif step.what == REQUIRE:
        _require(world, batch)
    elif step.what == LEDGER_LOST:
        raise LedgerLost(batch.batch_id)
    else:
        assert step.decision is not None, "the other steps are of a decision"
        _do_decided(world, batch, step, step.decision)


def _do_decided(world: World, batch: Batch, step: Step, decision: Decision) -> None:
    if step.what == RECORD:
        world.record(decision)
    elif step.what == SETTLE:
        world.commit(decision.transactions)
    elif step.what == REFUSE:
        assert step.relation is not None, "a refusal says why"
        raise Refused(step.relation, decision, batch)
    else:
        _commit(world, batch, decision, is_older=step.what == FINISH)


def _require(world: World, batch: Batch) -> None:
    standings = world.standings(batch.transactions)
    closed = [each for each in batch.transactions if standings[each] is not Standing.OPEN]
    gone = world.gone(batch.topic_ids)
    if closed or gone:
        world.abort(batch.transactions)
    if closed:
        raise NotOpen(batch.batch_id, closed)
    if gone:
        raise TopicGone(batch.batch_id, gone, is_decided=False)


def _commit(world: World, batch: Batch, decision: Decision, *, is_older: bool) -> None:
    """All that can be, before the rest is lamented. A coordinator forgets a transactional id days after its last
    transaction: of an older batch that is no news, of one that is replayed nobody could tell how it ended. What became
    of the topics of an older batch is not asked either: Spark has taken note of it before."""
    fine = (Standing.COMMITTED, Standing.FORGOTTEN) if is_older else (Standing.COMMITTED,)
    to_commit: Sequence[Transaction] = decision.transactions
    standings: dict[Transaction, Standing] = {}
    if is_older:  # mostly all of it is committed, which one request tells
        standings = world.standings(decision.transactions)
        to_commit = [each for each in decision.transactions if standings[each] is Standing.OPEN]
    standings |= world.commit(to_commit)
    lost = [each for each in decision.transactions if standings[each] not in fine]
    if decision.batch_id == batch.accepted_loss:
        return
    if lost:
        raise Lost(decision, lost)
    is_replay = not is_older and decision.run_id != batch.run_id
    if is_replay and (gone := world.gone(decision.topic_ids)):
        raise TopicGone(decision.batch_id, gone, is_decided=True)
