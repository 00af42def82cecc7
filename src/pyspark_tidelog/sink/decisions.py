"""What the ledger says of a query's last batch, and what that means for a batch that asks to be decided. Pure.

Batches are numbered by the checkpoint of a streaming query, and a number alone says little: a new checkpoint begins at
0 again, a copied or rewound one counts on from an old number, and two jobs may use one query id by mistake. Whoever
took every number up to the last one for a replay would drop their rows. So a decision says who made it (`Origin`): the
id in the checkpoint's `metadata`, and a digest of the checkpoint's file `offsets/<batch>`, which Spark writes before a
batch and reuses for its replay. Where one side does not know its origin, the numbers have to do. A batch with a higher
number comes after the last decision only if that is of its checkpoint's past: a copy that went its own way has another
batch of the decision's number.

A decision also lists the runs that decided before its own. Each start of a query is another run, so one that finds
itself in that list has been replaced, and stops.
"""

import hashlib
import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

RUN_CHARACTERS: Final = 12  # of a run's id, which is random, where it is part of something
FORMER_RUNS_MAX: Final = 64
_HEXADECIMAL: Final = re.compile(rf"[0-9a-f]{{{RUN_CHARACTERS},}}")


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int


class Origin(NamedTuple):
    """Which batch of which checkpoint; "" where that is not known."""

    checkpoint_id: str = ""
    digest: str = ""  # of the file `offsets/<batch>`


UNKNOWN: Final = Origin()


class Decision(NamedTuple):
    """The batch is made of these transactions, and of no others."""

    batch_id: int
    run_id: str
    transactions: tuple[Transaction, ...]
    origin: Origin = UNKNOWN
    former_runs: tuple[str, ...] = ()  # shortened, newest first: they do not decide any more
    topic_ids: Mapping[str, str] = {}  # of the topics that the transactions wrote to
    source_ids: Mapping[str, str] = {}  # of the topics that the query reads, as far as this cluster has them

    @property
    def token(self) -> str:
        """Names this decision and no other: what an operator has to say who takes over from it."""
        return f"{self.batch_id}@{short_run(self.run_id)}"


class Batch(NamedTuple):
    """What the tasks of one batch handed over, and who asks for its commit."""

    batch_id: int
    run_id: str
    transactions: tuple[Transaction, ...]
    was_skipped: bool = False  # a task found the batch in the ledger, and wrote nothing
    may_have_strays: bool = False  # an attempt was repeated, or transactions never time out
    accepted_loss: int | None = None  # the batch of which the operator knows that part of it is lost
    origin: Origin = UNKNOWN
    take_over: str = ""  # the token of a decision that the operator says this query comes after
    topic_ids: Mapping[str, str] = {}
    source_ids: Mapping[str, str] = {}
    former: Mapping[int, str] = {}  # digests of the batches before it in its checkpoint, by their numbers


class Relation(Enum):
    """How a batch stands to the last decision."""

    NEXT = "next"
    OWN = "own"  # this very decision, asked for again
    REPLAY = "replay"  # the same batch of the same checkpoint, by another run
    # The others are refused: nothing of the batch becomes visible, and whoever asked is told why.
    TWICE = "twice"  # this run has decided the batch before, with other rows
    REPLACED = "replaced"  # another run has decided since this one did
    FOREIGN = "foreign"  # the last decision is of another checkpoint
    BEHIND = "behind"  # the last decision is of a later batch
    OTHER_BATCH = "other batch"  # of the same checkpoint and number, but of other offsets
    BRANCHED = "branched"  # the checkpoint's own batch of the last decision's number was made of other offsets
    SOURCE_ANEW = "source anew"  # a topic that is read was made anew while the query did not run


def short_run(run_id: str) -> str:
    """Always so many hexadecimal digits: Spark's are from a UUID, what somebody else calls a run is digested."""
    found = run_id.replace("-", "").lower()
    if not _HEXADECIMAL.fullmatch(found):
        found = hashlib.sha256(run_id.encode()).hexdigest()
    return found[:RUN_CHARACTERS]


def is_taken_over(last: Decision, take_over: str) -> bool:
    return take_over == last.token


def is_in_ledger(last: Decision | None, batch_id: int, take_over: str) -> bool:
    """Whether a task need not write: the driver finishes the batch, or refuses it."""
    return last is not None and last.batch_id >= batch_id and not is_taken_over(last, take_over)


def relation(last: Decision | None, batch: Batch) -> Relation:
    if last is None or is_taken_over(last, batch.take_over):
        return Relation.NEXT
    is_same_run = last.run_id == batch.run_id
    if short_run(batch.run_id) in last.former_runs and not is_same_run:
        return Relation.REPLACED
    if differ(last.origin.checkpoint_id, batch.origin.checkpoint_id):
        return Relation.FOREIGN
    if batch.batch_id < last.batch_id:
        return Relation.BEHIND
    if not is_same_run and made_anew(last.source_ids, batch.source_ids):
        return Relation.SOURCE_ANEW
    if batch.batch_id > last.batch_id:
        has_branched = differ(last.origin.digest, batch.former.get(last.batch_id, ""))
        return Relation.BRANCHED if has_branched else Relation.NEXT
    if is_same_run:
        return Relation.OWN if batch.transactions and batch.transactions == last.transactions else Relation.TWICE
    return Relation.OTHER_BATCH if differ(last.origin.digest, batch.origin.digest) else Relation.REPLAY


def made_anew(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The topics that have another id now."""
    return sorted(topic for topic, topic_id in before.items() if now.get(topic, topic_id) != topic_id)


def new_decision(last: Decision | None, batch: Batch) -> Decision:
    return Decision(
        batch.batch_id,
        batch.run_id,
        batch.transactions,
        batch.origin,
        _former_runs(last, batch),
        batch.topic_ids,
        batch.source_ids,
    )


def adopted(last: Decision, batch: Batch) -> Decision:
    """The decision as it is, under the run that replays it: the run that made it does not decide any more."""
    origin = Origin(*(ours or theirs for ours, theirs in zip(batch.origin, last.origin, strict=True)))
    return last._replace(
        run_id=batch.run_id,
        origin=origin,
        former_runs=_former_runs(last, batch),
        source_ids={**last.source_ids, **batch.source_ids},
    )


def _former_runs(last: Decision | None, batch: Batch) -> tuple[str, ...]:
    if last is None:
        return ()
    if last.run_id == batch.run_id:
        return last.former_runs
    ours = short_run(batch.run_id)  # a run that was replaced may be told to take over
    kept = (each for each in last.former_runs if each not in (ours, short_run(last.run_id)))
    return (short_run(last.run_id), *kept)[:FORMER_RUNS_MAX]


def differ(one: str, other: str) -> bool:
    """Whether both are known, and not the same."""
    return bool(one and other) and one != other
