"""What the ledger says of a query's last batch, and what that means for a batch that asks to be committed. Pure.

Batches are numbered by the checkpoint of a streaming query, and a number alone says little: a new checkpoint begins at
0 again, a copied or rewound one counts on from an old number, and two jobs may use one query id by mistake. If every
number up to the last one counted as a replay, the rows of such batches would be dropped. So a decision says who made it
(`Origin`): the id in the checkpoint's `metadata`, and a digest of the checkpoint's file `offsets/<batch>`, which Spark
writes before a batch and reuses for its replay. Where one side does not know its origin, only the numbers are compared.
A batch with a higher number comes after the last decision only if its checkpoint has the decided batch in its past: a
copy that went on by itself has another batch of that number.

A decision also lists the runs that decided before its own. Each start of a query is another run, so a run that finds
itself in that list has been replaced, and stops.
"""

import hashlib
import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

RUN_CHARACTERS: Final = 12  # how much of a run's random id is used as part of other names
FORMER_RUNS_MAX: Final = 64
_HEXADECIMAL: Final = re.compile(rf"[0-9a-f]{{{RUN_CHARACTERS},}}")


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int


class Origin(NamedTuple):
    """The checkpoint and the offsets that a batch comes from; "" where that is not known."""

    checkpoint_id: str = ""
    digest: str = ""  # digest of the file `offsets/<batch>`


UNKNOWN: Final = Origin()


class Decision(NamedTuple):
    """A record of the ledger: the batch is made of these transactions, and of no others."""

    batch_id: int
    run_id: str
    transactions: tuple[Transaction, ...]
    origin: Origin = UNKNOWN
    former_runs: tuple[str, ...] = ()  # runs that were replaced and may not decide any more: shortened, newest first
    topic_ids: Mapping[str, str] = {}  # ids of the topics that the transactions wrote to
    source_ids: Mapping[str, str] = {}  # ids of the topics that the query reads, as far as this cluster has them

    @property
    def token(self) -> str:
        """The name of this decision, and of no other: an operator gives it as `takeOver` to go on after the
        decision."""
        return f"{self.batch_id}@{short_run(self.run_id)}"


class Batch(NamedTuple):
    """The transactions of one batch, and who asks for their commit."""

    batch_id: int
    run_id: str
    transactions: tuple[Transaction, ...]
    was_skipped: bool = False  # a task found the batch in the ledger, and wrote nothing
    may_have_strays: bool = False  # other attempts may have open transactions: see `SinkCommit._may_have_strays`
    accepted_loss: int | None = None  # the batch of which the operator knows that part of it is lost
    origin: Origin = UNKNOWN
    take_over: str = ""  # the token of a decision that the operator says this query comes after
    topic_ids: Mapping[str, str] = {}
    source_ids: Mapping[str, str] = {}
    former: Mapping[int, str] = {}  # digests of the batches before this one in its checkpoint, by their numbers


class Relation(Enum):
    """How a batch relates to the last decision of its query."""

    NEXT = "next"
    OWN = "own"  # the batch of the last decision, asked for again by the same run
    REPLAY = "replay"  # the same batch of the same checkpoint, by another run
    # Batches of the relations below are refused: nothing of them becomes visible, and the caller is told why.
    TWICE = "twice"  # this run has decided the batch before, with other rows
    REPLACED = "replaced"  # another run has decided since this one did
    FOREIGN = "foreign"  # the last decision is of another checkpoint
    BEHIND = "behind"  # the last decision is of a later batch
    OTHER_BATCH = "other batch"  # the last decision has the same checkpoint and number, but other offsets
    BRANCHED = "branched"  # the checkpoint's own batch of the last decision's number was made of other offsets
    SOURCE_ANEW = "source anew"  # a topic that is read was made anew while the query did not run


def short_run(run_id: str) -> str:
    """Return RUN_CHARACTERS hexadecimal digits that stand for a run: the first ones of Spark's UUID, or those of a
    digest where the id is of another form."""
    found = run_id.replace("-", "").lower()
    if not _HEXADECIMAL.fullmatch(found):
        found = hashlib.sha256(run_id.encode()).hexdigest()
    return found[:RUN_CHARACTERS]


def is_taken_over(last: Decision, take_over: str) -> bool:
    return take_over == last.token


def is_in_ledger(last: Decision | None, batch_id: int, take_over: str) -> bool:
    """Tell whether the ledger has this batch or a later one. If so a task need not write: the driver finishes the
    batch, or refuses it."""
    return last is not None and last.batch_id >= batch_id and not is_taken_over(last, take_over)


def relation(last: Decision | None, batch: Batch) -> Relation:
    """Return how a batch relates to the last decision of its query."""
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
    """Return the topics that have another id now; one that is missing now does not count."""
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
    """Return the last decision under the run that replays it, so that the run that made it cannot decide any more."""
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
    ours = short_run(batch.run_id)  # may be listed: an operator can have a replaced run take over
    kept = (each for each in last.former_runs if each not in (ours, short_run(last.run_id)))
    return (short_run(last.run_id), *kept)[:FORMER_RUNS_MAX]


def differ(one: str, other: str) -> bool:
    """Tell whether both are known ("" is unknown), and not the same."""
    return bool(one and other) and one != other
