"""The options of a write, and the columns that it takes: those of Spark's own Kafka connector, and a few more."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.declared import Declared, Given, by_name, lowered, nearest
from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.kafka.catalogue import PREFIX
from pyspark_tidelog.kafka.settings import ClusterOptions, ProducerSettings, cluster_options, producer_settings
from pyspark_tidelog.sink.checkpoint import CheckpointBatch
from pyspark_tidelog.sink.decisions import Origin

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class Guarantee(Enum):
    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


_GUARANTEE = """\
`exactly-once`: each batch is visible once to consumers that read committed, whatever fails; `spark.speculation` is \
refused. `at-least-once`: as Spark's own connector, a batch that is tried again is there again. Without it: \
exactly-once where the cluster has transactions"""
_LOST = """\
the number of a batch of which the sink says that part of it is lost (its transactions timed out after they were to be \
committed): go on without that part"""
_TAKE_OVER = """\
the decision, `<batch>@<run>` as an error names it, that this query goes on after although its number or its \
checkpoint is another: for a query id that is taken over on purpose. Without effect once that is done"""

# Options of Spark itself that reach a sink among its own, and one of the connector that has no effect on a write.
_OTHERS: Final = ("checkpointlocation", "queryname", "path", "includeheaders")

SINK_OPTIONS: Final = by_name(
    (
        Declared("topic", "", "where every row goes, whatever its column `topic` says"),
        Declared("deliveryGuarantee", "", _GUARANTEE),
        Declared("transactionalIdPrefix", "tidelog-spark", "how the transactional ids of the sink begin (for ACLs)"),
        Declared("ledgerTopic", "__tidelog_spark_ledger", "the topic that remembers which batches are committed"),
        Declared("acceptLostBatch", "", _LOST, "stream"),
        Declared("takeOver", "", _TAKE_OVER),
        Declared("exactlyOnceQuery", "", "set by `write_exactly_once`: who writes, over restarts", "batch"),
        Declared("exactlyOnceName", "", "set by `write_exactly_once`: which of several writes of a batch", "batch"),
        Declared("exactlyOnceBatch", "", "set by `write_exactly_once`: the number of the batch", "batch"),
        Declared("exactlyOnceRun", "", "set by `write_exactly_once`: the start of the query", "batch"),
        Declared(
            "exactlyOnceOrigin", "", "set by `write_exactly_once`: what the checkpoint says of the batch", "batch"
        ),
    )
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    cluster: ClusterOptions
    producer: ProducerSettings
    topic: str | None
    guarantee: Guarantee | None  # None: exactly-once where the cluster has transactions
    prefix: str
    ledger_topic: str
    accepted_loss: int | None
    query_id: str | None
    batch_id: int | None
    name: str
    run_id: str | None
    take_over: str
    origin: CheckpointBatch | None  # what `write_exactly_once` has found in the checkpoint
    checkpoint: str | None  # the location of a stream's checkpoint, if an option names it
    query_name: str | None


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    for name in lowered(options):
        if not name.startswith(PREFIX) and name not in SINK_OPTIONS and name not in _OTHERS:
            step = nearest(name, [each.name for each in SINK_OPTIONS.values()])
            raise OptionError(name, "is no option of a write", step)
    given = Given(options, SINK_OPTIONS)
    producer = producer_settings(options)
    return SinkOptions(
        cluster=cluster_options(options),
        producer=producer,
        topic=given.text("topic"),
        guarantee=_guarantee(given, producer),
        prefix=given.text("transactionalIdPrefix") or "",
        ledger_topic=given.text("ledgerTopic") or "",
        accepted_loss=given.number_or_none("acceptLostBatch", 0),
        query_id=given.text("exactlyOnceQuery"),
        batch_id=given.number_or_none("exactlyOnceBatch", 0),
        name=given.text("exactlyOnceName") or "",
        run_id=given.text("exactlyOnceRun"),
        take_over=given.text("takeOver") or "",
        origin=decode_origin(given.text("exactlyOnceOrigin")),
        checkpoint=lowered(options).get("checkpointlocation"),
        query_name=lowered(options).get("queryname"),
    )


def encode_origin(found: CheckpointBatch) -> str:
    return json.dumps([found.origin, found.source_topics, list(found.former.items())])


def decode_origin(text: str | None) -> CheckpointBatch | None:
    if text is None:
        return None
    origin, topics, former = json.loads(text)
    return CheckpointBatch(Origin(*origin), tuple(topics), dict(former))


def _guarantee(given: Given, producer: ProducerSettings) -> Guarantee | None:
    """Return the guarantee that was asked for. Transactions need an idempotent producer: a user who turned that off has
    chosen at-least-once."""
    name = "deliveryGuarantee"
    if name not in given:
        return None if producer.idempotent else Guarantee.AT_LEAST_ONCE
    wanted = Guarantee(given.choice(name, tuple(each.value for each in Guarantee)))
    if wanted is Guarantee.EXACTLY_ONCE and not producer.idempotent:
        problem = "exactly-once needs kafka.acks all and kafka.enable.idempotence true"
        raise OptionError(name, problem, "leave both out, or choose at-least-once")
    return wanted


_TYPES: Final = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
# Other columns of our source, which are accepted and ignored, so that a copy of a topic need not drop them: a record
# gets its offset and time from the new log.
_NOT_WRITTEN: Final = ("offset", "timestamp", "timestampType", "value_size")


def check_schema(schema: "StructType", topic: str | None) -> None:
    """Refuse a DataFrame whose columns cannot become records, before anything is written."""
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "value" not in types:
        raise SinkError(f"there is no column `value` among {', '.join(types) or 'none'}", "", "select or rename one")
    if topic is None and "topic" not in types:
        raise SinkError("nothing says which topic", "", "set the option topic, or add a column `topic`")
    for name, found in types.items():
        if name not in _TYPES and name not in _NOT_WRITTEN:
            step = f"drop it, or put it into `value`: a record has {', '.join(_TYPES)}"
            raise SinkError(f"column `{name}` would not be written", "", step)
        if name in _TYPES and found not in _TYPES[name]:
            raise SinkError(f"column `{name}` is {found}", "", f"cast it to {' or '.join(_TYPES[name])}")
