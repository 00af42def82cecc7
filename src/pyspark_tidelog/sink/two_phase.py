"""How a batch becomes visible exactly once, whatever dies on the way. Pure: decisions in, steps out; `transactions`
carries the steps out.

Each task writes in a transaction of its own and leaves it open. The driver's commit is

    fence -> read the ledger -> decide -> [finish the last decision] -> require -> list strays
          -> record the decision -> commit every transaction -> abort the strays

and the one moment that counts is `record`: before it the batch is not decided, and its transactions can only be
aborted; after it they can only be committed, by whichever driver comes next. The ledger takes a record only from the
last driver that fenced, so no other driver has decided between reading and recording.

What the last decision means for the batch is in `decisions`. A replay records the decision again under its own run: the
run that made it is thereby replaced, and is told so at its next commit. The transactions of a refused batch are
aborted, and the caller gets an error.

Two drivers of one query (one of them believed dead) are safe because transactional ids belong to a *run*, and to even
or odd batches: nobody begins a transaction under an id whose open transaction another driver may have decided to
commit, and the ids of the last decision are not used again until the next decision is made. Two drivers may write the
same batch; the first to record wins, and the other aborts its own transactions.

Strays are open transactions of the query that no decision names: tasks that were killed, runs that died. They are
listed before our record, when nobody can have begun the next batch, and aborted after it, by producer id and epoch: so
a transaction that another driver begins in between is not among them.
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
    """One step of a commit or abort: `what` is one of the names below, done to the `decision` or the `transactions`."""

    what: str
    decision: Decision | None = None
    transactions: tuple[Transaction, ...] = ()
    relation: Relation | None = None


CHECK_LEDGER = "check the ledger"  # refuse a ledger topic that would not keep decisions
FINISH = "finish"  # commit every transaction of an older decision, as far as the coordinator still knows it
REQUIRE = "require"  # refuse the batch unless each of the transactions is open
LIST_STRAYS = "list strays"  # list the open transactions of the query other than these
RECORD = "record"
COMMIT = "commit"
ABORT = "abort"
ABORT_STRAYS = "abort strays"
SETTLE = "settle"  # commit the last decision before a refusal; what of it is lost is no error of this batch
REFUSE = "refuse"
LEDGER_LOST = "ledger lost"


def decide(last: Decision | None, batch: Batch) -> list[Step]:
    """Return the steps to take when Spark calls commit."""
    found = relation(last, batch)
    if found is Relation.NEXT:
        return _next(last, batch)
    assert last is not None, "what is related to no decision is the next"
    if found is Relation.OWN:
        return [Step(COMMIT, last)]
    if found is Relation.REPLAY:
        strays = Step(LIST_STRAYS, transactions=last.transactions)  # the replay's own transactions are among them
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
    if last is not None:  # even of the same run: its commit may have failed, and the caller may have gone on
        steps.insert(0, Step(FINISH, last))
    if is_first_of_run:
        steps.insert(0, Step(CHECK_LEDGER))
    if is_first_of_run or batch.may_have_strays:
        known = batch.transactions + (() if last is None else last.transactions)
        steps.append(Step(LIST_STRAYS, transactions=known))
    return [*steps, Step(RECORD, decision), Step(COMMIT, decision), Step(ABORT_STRAYS)]


def withdraw(last: Decision | None) -> list[Step]:
    """Return the steps to take when Spark calls abort, which it also does after a commit that failed half-way. Tasks
    that were killed have told the driver nothing, so every open transaction of the run is aborted that no decision
    names."""
    return [Step(LIST_STRAYS, transactions=() if last is None else last.transactions), Step(ABORT_STRAYS)]


class NotOpen(Exception):
    """Some transactions of the batch have ended before the decision: nothing is visible, and the batch can be written
    again."""

    def __init__(self, batch_id: int, transactions: Sequence[Transaction]) -> None:
        super().__init__(batch_id, tuple(transactions))
        self.batch_id, self.transactions = batch_id, tuple(transactions)


class Lost(Exception):
    """Some transactions of a decided batch were aborted: the rows of those are lost, the rows of the others visible."""

    def __init__(self, decision: Decision, transactions: Sequence[Transaction]) -> None:
        super().__init__(decision, tuple(transactions))
        self.decision, self.transactions = decision, tuple(transactions)


class TopicGone(Exception):
    """A topic that the batch was written to was deleted, and perhaps made anew: the rows are gone with it."""

    def __init__(self, batch_id: int, topics: Sequence[str], *, is_decided: bool) -> None:
        super().__init__(batch_id, tuple(topics))
        self.batch_id, self.topics, self.is_decided = batch_id, tuple(topics), is_decided


class Refused(Exception):
    """The batch cannot come after the last decision of its query; `why` says how the two relate."""

    def __init__(self, why: Relation, last: Decision, batch: Batch) -> None:
        super().__init__(why, last, batch)
        self.why, self.last, self.batch = why, last, batch


class LedgerLost(Exception):
    """A task has seen the batch in the ledger, and the driver does not find it there."""


class World(Protocol):
    """The ledger of one query, and the coordinators of its transactions."""

    def fence(self) -> None:
        """Have the ledger take no record of any other driver from now on."""

    def last_decision(self) -> Decision | None: ...

    def check_ledger(self) -> None:
        """Refuse a ledger topic that would not keep the decisions in it."""

    def record(self, decision: Decision) -> None:
        """Write the decision to the ledger, durably; an error if another driver has fenced since `fence`."""

    def standings(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]: ...

    def commit(self, transactions: Iterable[Transaction]) -> dict[Transaction, Standing]:
        """Commit each transaction; return the state each one is in afterwards. Safe to repeat."""

    def abort(self, transactions: Iterable[Transaction]) -> None:
        """Abort the transactions that are still open under their producer id and epoch."""

    def open_transactions(self, run_id: str | None = None) -> list[Transaction]:
        """Return the open transactions of the query, of one run or of all."""

    def gone(self, topic_ids: Mapping[str, str]) -> list[str]:
        """Return the topics that are not there any more under these ids."""


Running = Generator[Step, None, None]


def commit(world: World, batch: Batch) -> Running:
    """Commit a batch. Each step is yielded before it is done: a test may stop there for good, as a crash does."""
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
    """Commit every transaction of a decision that can be committed, and only then raise `Lost` for the others. A
    coordinator forgets a transactional id days after its last transaction. That is fine for an older batch; for a
    replayed one, nobody could tell how the transaction ended. The topics of an older batch are not checked either:
    Spark has noted that batch as done."""
    fine = (Standing.COMMITTED, Standing.FORGOTTEN) if is_older else (Standing.COMMITTED,)
    to_commit: Sequence[Transaction] = decision.transactions
    standings: dict[Transaction, Standing] = {}
    if is_older:  # mostly all transactions are committed, which one request tells
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
