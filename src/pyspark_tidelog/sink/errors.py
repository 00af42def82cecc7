"""The errors of a commit in words for the user: the batch and the decision that it conflicts with, and the next
step."""

from typing import Final

from pyspark_tidelog.errors import SinkError, TidelogError, of_client
from pyspark_tidelog.sink.decisions import Batch, Decision, Relation, made_anew
from pyspark_tidelog.sink.options import SinkOptions
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from pyspark_tidelog.sink.two_phase import LedgerLost, Lost, NotOpen, Refused, TopicGone
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode

Failure = NotOpen | Lost | LedgerLost | Refused | TopicGone
FAILURES: Final = (NotOpen, Lost, LedgerLost, Refused, TopicGone)
_REPLACED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
_ONCE: Final = "see that the query runs only once for its checkpoint; this one stops"
_AGAIN: Final = "rows that both have written are then there twice"


def of_commit(error: ClientError, ids: TransactionalIds, batch_id: int) -> TidelogError:
    doing = f"commit batch {batch_id} of query {ids}"
    if error.code in _REPLACED:
        return SinkError(f"{doing}: another driver of this query has taken over", str(error), _ONCE)
    return of_client(error, doing)


def told(error: Failure, options: SinkOptions, ids: TransactionalIds, batch_id: int) -> SinkError:
    if isinstance(error, NotOpen):
        return _not_open(error, options, ids)
    if isinstance(error, Lost):
        return _lost(error, ids)
    if isinstance(error, Refused):
        return _refused(error, options, ids)
    if isinstance(error, TopicGone):
        return _topic_gone(error, ids)
    what = f"batch {batch_id} of query {ids}: the ledger does not know it any more"
    step = "was the topic deleted, or a broker's data? Look what of the batch is in the output before you go on"
    return SinkError(what, f"topic {options.ledger_topic}", step)


def _refused(error: Refused, options: SinkOptions, ids: TransactionalIds) -> SinkError:
    last, batch = error.last, error.batch
    what = (
        f"batch {batch.batch_id} of query {ids} is not written: {_why(error.why, last, batch)}. "
        f"Here writes {_side(batch)}; the ledger has {_side(last)}"
    )
    if options.take_over:
        what += f". takeOver is {options.take_over}, which names another decision"
    return SinkError(what, f"topic {options.ledger_topic}", _step(error.why, last))


def _why(why: Relation, last: Decision, batch: Batch) -> str:
    match why:
        case Relation.TWICE:
            return "this run has written it before, and these rows are others"
        case Relation.REPLACED:
            return "another driver of this query has taken over"
        case Relation.FOREIGN:
            return "the query id is in use by another checkpoint"
        case Relation.BEHIND:
            return f"batch {last.batch_id} is committed already, so that it is no replay of the last batch"
        case Relation.OTHER_BATCH:
            return (
                "another batch of this number is committed, with other offsets: the checkpoint was rewound, or copied"
            )
        case Relation.BRANCHED:
            return (
                f"its checkpoint has another batch {last.batch_id} than the one that is committed: it was rewound or "
                "copied, and went its own way"
            )
        case _:
            topics = ", ".join(made_anew(last.source_ids, batch.source_ids))
            return (
                f"topic {topics}, which the query reads, was deleted and made anew since batch {last.batch_id}: the "
                "offsets of the checkpoint are those of the old topic, and records of the new one would be skipped"
            )


def _side(of: Batch | Decision) -> str:
    checkpoint_id, digest = of.origin
    checkpoint = f"checkpoint {checkpoint_id}" if checkpoint_id else "a checkpoint that is not known"
    offsets = f", offsets {digest[:12]}" if digest else ""
    return f"batch {of.batch_id} of {checkpoint}{offsets}, run {of.run_id or 'unknown'}"


def _step(why: Relation, last: Decision) -> str:
    take_over = f"set the option takeOver to {last.token}: {_AGAIN}"
    match why:
        case Relation.TWICE:
            return (
                "give each call of write_exactly_once in a batch a name of its own; after an error let the batch fail"
            )
        case Relation.REPLACED:
            return _ONCE
        case Relation.FOREIGN:
            return (
                f"give each job a query id of its own; if this one is to go on in the place of the other, {take_over}"
            )
        case Relation.SOURCE_ANEW:
            return (
                "begin with a new checkpoint to read the new topic from its beginning; to go on where the checkpoint "
                f"is, set the option takeOver to {last.token}"
            )
        case _:
            return f"go on with the checkpoint that wrote the last batch; or, to write on from this one, {take_over}"


def _topic_gone(error: TopicGone, ids: TransactionalIds) -> SinkError:
    topics = ", ".join(error.topics)
    if not error.is_decided:
        what = f"batch {error.batch_id} of query {ids} is not committed: {topics} was deleted while it was written"
        return SinkError(what, f"topic {topics}", "start the query again, and it writes the batch anew")
    what = (
        f"batch {error.batch_id} of query {ids} was committed, but {topics} was deleted since, and made anew or not: "
        "the rows of the batch are gone with it"
    )
    step = f"write them from elsewhere, or do without them, and set acceptLostBatch to {error.batch_id}"
    return SinkError(what, f"topic {topics}", step)


def _not_open(error: NotOpen, options: SinkOptions, ids: TransactionalIds) -> SinkError:
    listed = ", ".join(each.transactional_id for each in error.transactions)
    what = (
        f"batch {error.batch_id} of query {ids} is not committed, and nothing of it is visible: "
        f"{len(error.transactions)} of its transactions ended before"
    )
    timeout_ms = options.producer.transaction_timeout_ms
    step = (
        "start the query again, and it writes the batch anew; if its tasks take longer than "
        f"kafka.transaction.timeout.ms ({timeout_ms}), raise that, and transaction.max.timeout.ms of the brokers"
    )
    return SinkError(what, listed, step)


def _lost(error: Lost, ids: TransactionalIds) -> SinkError:
    decision = error.decision
    listed = ", ".join(each.transactional_id for each in error.transactions)
    what = (
        f"batch {decision.batch_id} of query {ids} is incomplete: it was decided to commit it, but "
        f"{len(error.transactions)} of its {len(decision.transactions)} transactions are not committed: they "
        "timed out, or somebody ended them. The rows of those are not visible, the rows of the others are"
    )
    step = (
        f"write what is missing from elsewhere, or do without it, and set acceptLostBatch to {decision.batch_id}; "
        "raise kafka.transaction.timeout.ms so that a restart of the driver fits in"
    )
    return SinkError(what, listed, step)
