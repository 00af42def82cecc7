"""Every option of a read that is not `kafka.*`, declared once. Names, meanings and defaults are those of Spark's Kafka
connector; the last few are ours."""

from typing import Final

from pyspark_tidelog.declared import Declared, by_name

_STARTING_OFFSETS = """\
`earliest`, `latest` (stream only), or an offset for each partition, -2 for earliest and -1 for latest: \
`{"topicA":{"0":23,"1":-1}}`. Without it a batch starts at earliest and a stream at latest. A stream that has a \
checkpoint goes on from there; partitions that are new to it start at earliest"""
_FAIL_ON_DATA_LOSS = """\
fail when records are gone that were to be read (deleted, or the topic made anew); false: go on with what is there, \
and log it"""
_COLUMNS = """\
the columns to read, with commas between, in this order: what is left out is not even decoded. A schema of your own, \
`.schema("value binary")`, does the same"""
_COMMIT_OFFSETS_TO_GROUP = """\
a consumer group that the offsets of finished micro-batches are committed to, so that any Kafka tool shows the query's \
lag. The query itself starts from its checkpoint"""
_TOPIC_IDS_FILE = """\
a file of this query alone, where the driver keeps the ids of the topics: a topic that is deleted and made anew while \
the query does not run is then noticed as data loss, as it is while the query runs. A path that the driver can read \
and write as a file; beside the checkpoint is a good place"""
_AS_OF = """\
the topic as it was at a time: `2026-11-15T09:00:00Z`, or milliseconds since 1970. Each partition ends before its \
first record that is younger"""
_PATTERN = """\
a regular expression: topics in whose name it is found (`^` and `$` tie it to the whole name), internal ones apart"""
_BY_TIME = "the first record that is not older than this, in milliseconds since 1970"
_BY_TIME_JSON = 'the same for each partition: `{"topicA":{"0":1700000000000,"1":1700000000000}}`'
_MAX_TIME = """\
a micro-batch has records of about so much time at most, counted from the oldest that waits in any partition, by the \
records' timestamps: `10m`. Partitions then work off a backlog side by side, and the one that is ahead does not move \
Spark's watermark past what the others still have to read"""
_RETRIED = "accepted without effect: the client tries again for `kafka.default.api.timeout.ms`"

SOURCE_OPTIONS: Final = by_name(
    Declared(name, default, doc, scope)
    for name, default, scope, doc in (
        ("subscribe", "", "both", "topics, with commas between. One of `subscribe`, `subscribePattern` and `assign`"),
        ("subscribePattern", "", "both", _PATTERN),
        ("assign", "", "both", 'partitions: `{"topicA":[0,1],"topicB":[2,4]}`'),
        ("startingOffsets", "", "both", _STARTING_OFFSETS),
        ("startingTimestamp", "", "both", f"{_BY_TIME}. Wins over `startingOffsetsByTimestamp`"),
        ("startingOffsetsByTimestamp", "", "both", f"{_BY_TIME_JSON}. Wins over `startingOffsets`"),
        (
            "startingOffsetsByTimestampStrategy",
            "error",
            "both",
            "where a partition has no record so young: `error`, or `latest` to start at its end",
        ),
        (
            "endingOffsets",
            "latest",
            "batch",
            "`latest`, or for each partition the first offset that is not read, -1 for latest",
        ),
        ("endingTimestamp", "", "batch", f"ends before {_BY_TIME}. Wins over `endingOffsetsByTimestamp`"),
        ("endingOffsetsByTimestamp", "", "batch", f"{_BY_TIME_JSON}. Wins over `endingOffsets`"),
        ("failOnDataLoss", "true", "both", _FAIL_ON_DATA_LOSS),
        (
            "minPartitions",
            "",
            "both",
            "about so many tasks at least: partitions with much to read are split. Otherwise one task a partition",
        ),
        ("maxRecordsPerPartition", "", "both", "a task reads so many records at most"),
        (
            "maxOffsetsPerTrigger",
            "",
            "stream",
            "a micro-batch has about so many records at most, shared out by what each partition has waiting",
        ),
        ("minOffsetsPerTrigger", "", "stream", "a micro-batch waits for so many records"),
        ("maxTriggerDelay", "15m", "stream", "how long `minOffsetsPerTrigger` may keep records waiting"),
        ("includeHeaders", "false", "both", "add the column `headers`"),
        ("groupIdPrefix", "", "both", "accepted without effect: no query joins a group, so none needs a name for it"),
        ("kafkaConsumer.pollTimeoutMs", "", "both", "accepted without effect: see `kafka.request.timeout.ms`"),
        ("fetchOffset.numRetries", "", "both", _RETRIED),
        ("fetchOffset.retryIntervalMs", "", "both", _RETRIED),
        (
            "partition.metadata.cache.ttl.ms",
            "",
            "both",
            "accepted without effect: to ask for the partitions anew costs milliseconds",
        ),
        # Options that Spark's Kafka connector does not have
        ("maxTimePerTrigger", "", "stream", _MAX_TIME),
        ("columns", "", "both", _COLUMNS),
        ("commitOffsetsToGroup", "", "stream", _COMMIT_OFFSETS_TO_GROUP),
        ("topicIdsFile", "", "stream", _TOPIC_IDS_FILE),
        ("asOf", "", "batch", _AS_OF),
    )
)
