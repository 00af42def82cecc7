"""The options of a read: defaults, precedence and contradictions as in Spark's Kafka connector."""

import logging
import pickle

import pytest

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.offsets import ByPartition, ByTime, Earliest, Latest
from pyspark_tidelog.source.options import Assign, SourceOptions, Subscribe, SubscribePattern, source_options
from pyspark_tidelog.source.schema import DEFAULT_COLUMNS
from tidelog.model.ids import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
LEAST = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "a"}


def batch(**options: str) -> SourceOptions:
    return source_options(LEAST | options, is_streaming=False)


def stream(**options: str) -> SourceOptions:
    return source_options(LEAST | options, is_streaming=True)


def test_defaults() -> None:
    found = batch()
    assert found.subscription == Subscribe(("a",))
    assert (found.starting, found.ending) == (Earliest(), Latest())
    assert stream().starting == Latest()
    assert found.fail_on_data_loss is True
    assert found.max_trigger_delay_ms == 15 * 60_000
    assert found.columns == DEFAULT_COLUMNS
    assert found.cluster.bootstrap == "localhost:9092"
    assert found.min_partitions is found.max_records_per_partition is None
    assert found.max_offsets_per_trigger is found.min_offsets_per_trigger is found.as_of_ms is None
    assert found.max_time_per_trigger_ms is None
    assert found.group_id is found.commit_offsets_to_group is None


def test_all_that_can_be_given_to_a_stream() -> None:
    found = stream(
        failOnDataLoss="FALSE",
        minPartitions="10",
        maxRecordsPerPartition="1000",
        maxOffsetsPerTrigger="500",
        minOffsetsPerTrigger="500",
        maxTriggerDelay="90s",
        maxTimePerTrigger="10m",
        includeHeaders="true",
        groupIdPrefix="p",
        commitOffsetsToGroup="g",
        **{"kafka.group.id": "i", "fetchOffset.numRetries": "3", "kafka.isolation.level": "read_committed"},
    )
    assert found.fail_on_data_loss is False
    assert (found.min_partitions, found.max_records_per_partition) == (10, 1000)
    assert (found.max_offsets_per_trigger, found.min_offsets_per_trigger) == (500, 500)
    assert found.max_trigger_delay_ms == 90_000
    assert found.max_time_per_trigger_ms == 600_000
    assert found.columns == (*DEFAULT_COLUMNS, "headers")
    assert (found.group_id, found.commit_offsets_to_group) == ("i", "g")
    assert found.fetch.read_committed is True
    assert pickle.loads(pickle.dumps(found)) == found


def test_names_have_no_case() -> None:
    lowered = {
        "KAFKA.BOOTSTRAP.SERVERS": "b",
        "SUBSCRIBE": "x",
        "startingoffsets": "EARLIEST",
        "FailOnDataLoss": "false",
    }
    found = source_options(lowered, is_streaming=True)
    assert (found.starting, found.fail_on_data_loss) == (Earliest(), False)


# What to read


def read(**subscription: str) -> SourceOptions:
    return source_options({"kafka.bootstrap.servers": "b"} | subscription, is_streaming=False)


def test_subscriptions() -> None:
    assert read(subscribe=" b , a,,b").subscription == Subscribe(("b", "a"))
    assert read(assign='{"a": [1, 0]}').subscription == Assign((A0, A1))
    assert read(subscribePattern=" or.*s ").subscription == SubscribePattern("or.*s")


def test_a_pattern_is_found_anywhere_in_the_name() -> None:
    assert SubscribePattern("orders").matches("eu.orders.v2")
    assert not SubscribePattern("^orders$").matches("eu.orders.v2")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "subscribe: nothing says what to read"),
        ({"subscribe": "a", "assign": "{}"}, "subscribe: is there together with assign"),
        ({"subscribePattern": "a", "assign": "{}"}, "subscribePattern: is there together with assign"),
        ({"subscribe": " , "}, "subscribe: ',' names no topic"),
        ({"subscribe": ""}, "subscribe: is empty"),
        ({"subscribePattern": "("}, "subscribePattern: '(' is not a regular expression"),
        ({"assign": "a-0"}, "assign: not JSON"),
    ],
)
def test_wrong_subscriptions(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        read(**options)
    assert str(caught.value).startswith(text)


# Where to start and end


def test_offsets() -> None:
    found = batch(startingOffsets='{"a":{"0":-2,"1":5}}', endingOffsets='{"a":{"0":7,"1":-1}}')
    assert found.starting == ByPartition({A0: -2, A1: 5}, "startingOffsets")
    assert found.ending == ByPartition({A0: 7, A1: -1}, "endingOffsets")
    assert stream(startingOffsets=" Latest ").starting == Latest()


def test_the_more_general_time_wins() -> None:
    offsets, times = '{"a":{"0":5}}', '{"a":{"0":77}}'
    by_all = {"startingTimestamp": "99", "startingOffsetsByTimestamp": times, "startingOffsets": offsets}
    assert batch(**by_all).starting == ByTime(99, "error", "startingTimestamp")
    del by_all["startingTimestamp"]
    assert batch(**by_all).starting == ByTime({A0: 77}, "error", "startingOffsetsByTimestamp")
    by_all = {"endingTimestamp": "99", "endingOffsetsByTimestamp": times, "endingOffsets": offsets}
    assert batch(**by_all).ending == ByTime(99, "latest", "endingTimestamp")
    del by_all["endingTimestamp"]
    assert batch(**by_all).ending == ByTime({A0: 77}, "latest", "endingOffsetsByTimestamp")


def test_what_a_start_without_a_match_does() -> None:
    found = batch(startingTimestamp="99", startingOffsetsByTimestampStrategy="Latest", endingTimestamp="100")
    assert found.starting == ByTime(99, "latest", "startingTimestamp")
    with pytest.raises(OptionError, match="startingOffsetsByTimestampStrategy: 'never' is not possible"):
        batch(startingOffsetsByTimestampStrategy="never")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets: a batch cannot start at latest"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "startingOffsets: a batch cannot start at latest"),
        ({"endingOffsets": "earliest"}, "endingOffsets: a batch cannot end at earliest"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "endingOffsets: a batch cannot end at earliest"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp: 'yesterday' is not a whole number"),
        ({"startingTimestamp": "-1"}, "startingTimestamp: -1 is out of range"),
        (
            {"startingOffsets": '{"a":{"0":8}}', "endingOffsets": '{"a":{"0":7}}'},
            "startingOffsets: a-0 would start at 8, after its end 7 in endingOffsets",
        ),
        (
            {"startingOffsets": '{"a":{"0":8}}', "endingOffsets": '{"a":{"1":9}}'},
            "startingOffsets: names other partitions than endingOffsets does: a-0, a-1",
        ),
        (
            {"startingOffsetsByTimestamp": '{"a":{"0":8}}', "endingOffsetsByTimestamp": '{"a":{"0":7}}'},
            "startingOffsetsByTimestamp: a-0 would start at 8",
        ),
        ({"startingTimestamp": "8", "endingTimestamp": "7"}, "startingTimestamp: 8 is after endingTimestamp 7"),
    ],
)
def test_contradictions_of_a_batch(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        batch(**options)
    assert str(caught.value).startswith(text)


def test_an_end_that_is_yet_to_be_looked_up_contradicts_nothing() -> None:
    found = batch(startingOffsets='{"a":{"0":8}}', endingOffsets='{"a":{"0":-1}}')
    assert found.ending == ByPartition({A0: -1}, "endingOffsets")


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "asOf"])
def test_a_stream_does_not_end(name: str) -> None:
    with pytest.raises(OptionError, match=f"^{name}: a stream does not end"):
        stream(**{name: "1"})


@pytest.mark.parametrize("name", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "commitOffsetsToGroup"])
def test_a_batch_has_no_triggers_but_does_not_mind(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "pyspark_tidelog"):
        batch(**{name: "5"})
    assert caplog.messages == [f"{name} has no effect in a batch read"]


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:05Z", 5_000),
        ("1970-01-01T01:00:05.0019+01:00", 5_001),
        ("2026-11-15T09:00:00Z", 1_794_733_200_000),
        ("1700000000000", 1_700_000_000_000),
    ],
)
def test_as_of_ends_after_the_records_of_that_millisecond(text: str, time_ms: int) -> None:
    found = batch(asOf=text)
    assert found.as_of_ms == time_ms
    assert found.ending == ByTime(time_ms + 1, "latest", "asOf")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"asOf": "yesterday"}, "asOf: 'yesterday' is not a time"),
        ({"asOf": "2026-11-15T09:00:00"}, "asOf: '2026-11-15T09:00:00' has no time zone"),
        ({"asOf": "1969-11-15T09:00:00Z"}, "asOf: '1969-11-15T09:00:00Z' is before 1970"),
        ({"asOf": "5", "endingOffsets": "latest"}, "asOf: is there together with endingOffsets"),
        ({"asOf": "5", "startingTimestamp": "7"}, "startingTimestamp: 7 is after asOf 6"),
    ],
)
def test_wrong_as_of(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        batch(**options)
    assert str(caught.value).startswith(text)


# The rest


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"maxOffsetPerTrigger": "5"},
            "maxOffsetPerTrigger: a read has no such option; did you mean maxOffsetsPerTrigger?",
        ),
        (
            {"bootstrap.servers": "x"},
            "bootstrap.servers: a read has no such option; did you mean kafka.bootstrap.servers?",
        ),
        ({"path": "/x"}, "path: a read has no such option"),
        ({"minPartitions": "0"}, "minPartitions: 0 is out of range"),
        ({"minPartitions": "2147483648"}, "minPartitions: 2147483648 is out of range"),
        ({"maxRecordsPerPartition": "many"}, "maxRecordsPerPartition: 'many' is not a whole number"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger: 0 is out of range"),
        ({"minOffsetsPerTrigger": "6", "maxOffsetsPerTrigger": "5"}, "minOffsetsPerTrigger: 6 is more than"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay: 'soon' is not a duration"),
        ({"maxTimePerTrigger": "an hour"}, "maxTimePerTrigger: 'an hour' is not a duration"),
        ({"maxTimePerTrigger": "0"}, "maxTimePerTrigger: no record fits"),
        ({"maxTriggerDelay": "-1s"}, "maxTriggerDelay: '-1s' is not a duration"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss: 'maybe' is not possible; choose true or false"),
        ({"commitOffsetsToGroup": " "}, "commitOffsetsToGroup: is empty"),
        ({"kafka.sasl.mechanism": "PLAIN"}, "kafka.sasl.mechanism: means nothing with security.protocol PLAINTEXT"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        stream(**options)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("text", "delay_ms"),
    [
        ("250", 250),
        ("250ms", 250),
        ("2500us", 2),
        ("10 s", 10_000),
        ("2min", 120_000),
        ("2H", 7_200_000),
        ("1d", 86_400_000),
    ],
)
def test_durations_as_spark_writes_them(text: str, delay_ms: int) -> None:
    assert stream(maxTriggerDelay=text).max_trigger_delay_ms == delay_ms


def test_columns_in_the_order_asked_for() -> None:
    assert batch(columns="value, TIMESTAMPTYPE,key").columns == ("value", "timestampType", "key")
    assert batch(columns="value_size").columns == ("value_size",)
    with_headers = batch(columns="headers", includeHeaders="true")
    assert with_headers.columns == ("headers",)


def test_a_schema_of_the_users_own_asks_for_columns_too() -> None:
    assert source_options(LEAST, is_streaming=True, schema_names=["value", "key"]).columns == ("value", "key")
    same = source_options(LEAST | {"columns": "value"}, is_streaming=True, schema_names=["value"])
    assert same.columns == ("value",)
    with pytest.raises(OptionError, match="columns: asks for value, and the schema for key"):
        source_options(LEAST | {"columns": "value"}, is_streaming=True, schema_names=["key"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"columns": "valeu"}, "columns: there is no column valeu; did you mean value?"),
        ({"columns": "value,Value"}, "columns: names value twice"),
        ({"columns": ","}, "columns: names no column"),
        ({"columns": "value", "includeHeaders": "true"}, "includeHeaders: the columns that are asked for lack headers"),
    ],
)
def test_wrong_columns(options: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        batch(**options)
    assert str(caught.value).startswith(text)
