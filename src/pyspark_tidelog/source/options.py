"""The options of a read, checked: an error about an option is raised here, before anything is read.

Everything that Spark's Kafka connector refuses is refused, and more: an unknown option (it would be a typing error with
silent consequences), and options of which one would silently win over the other.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyspark_tidelog.declared import INT_MAX, Given, lowered, nearest
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.catalogue import HONOURED, PREFIX
from pyspark_tidelog.kafka.offsets import OffsetSpec, parse_places
from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings, cluster_options, fetch_settings
from pyspark_tidelog.source.catalogue import SOURCE_OPTIONS
from pyspark_tidelog.source.range_options import as_of_ms, check_order, ending, starting
from pyspark_tidelog.source.schema import COLUMNS, DEFAULT_COLUMNS, HEADERS
from tidelog.model.ids import TopicPartition

LOGGER: Final = logging.getLogger("pyspark_tidelog")


@dataclass(frozen=True, slots=True)
class Subscribe:
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    pattern: str

    def matches(self, topic: str) -> bool:
        """Tell whether the pattern is found anywhere in the topic's name, as in Spark's connector."""
        return re.search(self.pattern, topic) is not None


@dataclass(frozen=True, slots=True)
class Assign:
    topic_partitions: tuple[TopicPartition, ...]


Subscription: TypeAlias = Subscribe | SubscribePattern | Assign


@dataclass(frozen=True, slots=True)
class SourceOptions:
    cluster: ClusterOptions
    fetch: FetchSettings
    subscription: Subscription
    starting: OffsetSpec
    ending: OffsetSpec
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    max_time_per_trigger_ms: int | None
    columns: tuple[str, ...]
    group_id: str | None
    commit_offsets_to_group: str | None
    topic_ids_file: str | None
    as_of_ms: int | None


def source_options(
    options: Mapping[str, str], *, is_streaming: bool, schema_names: Sequence[str] | None = None
) -> SourceOptions:
    """Return the checked options of a read; OptionError names the option that is wrong. `schema_names`: the columns of
    a schema that the user gave."""
    _check_names(options)
    given = Given(options, SOURCE_OPTIONS)
    _check_scope(given, is_streaming)
    begin, end = starting(given, is_streaming), ending(given)
    check_order(begin, end)
    max_offsets, min_offsets = _per_trigger(given)
    return SourceOptions(
        cluster=cluster_options(options),
        fetch=fetch_settings(options),
        subscription=_subscription(given),
        starting=begin,
        ending=end,
        fail_on_data_loss=given.flag("failOnDataLoss"),
        min_partitions=given.number_or_none("minPartitions", 1, INT_MAX),
        max_records_per_partition=given.number_or_none("maxRecordsPerPartition"),
        max_offsets_per_trigger=max_offsets,
        min_offsets_per_trigger=min_offsets,
        max_trigger_delay_ms=given.duration_ms("maxTriggerDelay"),
        max_time_per_trigger_ms=_time_per_trigger_ms(given),
        columns=_columns(given, schema_names),
        group_id=lowered(options).get("kafka.group.id"),
        commit_offsets_to_group=given.text("commitOffsetsToGroup"),
        topic_ids_file=given.text("topicIdsFile"),
        as_of_ms=as_of_ms(given),
    )


# Which options a read may have


def _check_names(options: Mapping[str, str]) -> None:
    for name in options:
        if name.lower() not in SOURCE_OPTIONS and not name.lower().startswith(PREFIX):
            known = [each.name for each in (*SOURCE_OPTIONS.values(), *HONOURED.values())]
            raise OptionError(name, "a read has no such option", nearest(name, known))


def _check_scope(given: Given, is_streaming: bool) -> None:
    """Refuse options of a batch in a stream, because a stream has no end. Options of a stream have no effect in a batch
    and are only logged: jobs share their options between the two."""
    for declared in SOURCE_OPTIONS.values():
        if declared.name not in given:
            continue
        if is_streaming and declared.scope == "batch":
            raise OptionError(declared.name, "a stream does not end", "leave it out, or use spark.read")
        if not is_streaming and declared.scope == "stream":
            LOGGER.warning("%s has no effect in a batch read", declared.name)


def _subscription(given: Given) -> Subscription:
    names = ("subscribe", "subscribePattern", "assign")
    said = [name for name in names if name in given]
    if len(said) != 1:
        problem = "is there together with " + " and ".join(said[1:]) if said else "nothing says what to read"
        raise OptionError(said[0] if said else names[0], problem, f"give one of {', '.join(names)}")
    text = given.text(said[0]) or ""
    match said[0]:
        case "subscribe":
            return _subscribe(text)
        case "assign":
            return Assign(tuple(parse_places("assign", text)))
        case _:
            return _pattern(text)


def _subscribe(text: str) -> Subscribe:
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    if not topics:
        raise OptionError("subscribe", f"{text!r} names no topic")
    return Subscribe(topics)


def _pattern(text: str) -> SubscribePattern:
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError("subscribePattern", f"{text!r} is not a regular expression: {error}") from None
    return SubscribePattern(text)


# Limits and columns


def _per_trigger(given: Given) -> tuple[int | None, int | None]:
    most, least = given.number_or_none("maxOffsetsPerTrigger"), given.number_or_none("minOffsetsPerTrigger")
    if most is not None and least is not None and least > most:
        raise OptionError("minOffsetsPerTrigger", f"{least} is more than maxOffsetsPerTrigger, {most}")
    return most, least


def _time_per_trigger_ms(given: Given) -> int | None:
    name = "maxTimePerTrigger"
    if name not in given:
        return None
    found = given.duration_ms(name)
    if not found:
        raise OptionError(name, "no record fits into less than a millisecond", "write, for example, 10m")
    return found


def _columns(given: Given, schema_names: Sequence[str] | None) -> tuple[str, ...]:
    with_headers = given.flag("includeHeaders")
    text = given.text("columns")
    if text is None and schema_names is None:
        return (*DEFAULT_COLUMNS, HEADERS) if with_headers else DEFAULT_COLUMNS
    named = _named_columns(text) if text is not None else tuple(schema_names or ())
    if schema_names is not None and named != tuple(schema_names):
        problem = f"asks for {', '.join(named)}, and the schema for {', '.join(schema_names)}"
        raise OptionError("columns", problem, "leave one of the two out")
    if with_headers and HEADERS not in named:
        raise OptionError("includeHeaders", "the columns that are asked for lack headers", "name headers among them")
    return named


def asked_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns for the schema. Spark asks for the schema at `load()`, before it says whether the read is a
    stream; so unknown options and columns are refused as early as that."""
    _check_names(options)
    return _columns(Given(options, SOURCE_OPTIONS), None)


def _named_columns(text: str) -> tuple[str, ...]:
    by_name = {name.lower(): name for name in COLUMNS}
    found: dict[str, None] = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        name = by_name.get(each.lower())
        if name is None:
            step = nearest(each, COLUMNS) or f"choose from {', '.join(COLUMNS)}"
            raise OptionError("columns", f"there is no column {each}", step)
        if name in found:
            raise OptionError("columns", f"names {name} twice")
        found[name] = None
    if not found:
        raise OptionError("columns", "names no column", f"choose from {', '.join(COLUMNS)}")
    return tuple(found)
