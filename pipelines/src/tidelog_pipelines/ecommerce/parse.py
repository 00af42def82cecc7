"""Records into events: which are events at all, why the others are not, and the dead letters that say so.

One pass of Spark's JSON reader over all kinds; the rest are comparisons of its columns. What only a dead letter needs
(was it JSON at all?) is computed in the branch that only they take.
"""

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidelog_pipelines.ecommerce import events
from tidelog_pipelines.ecommerce.events import COORDINATES, EventTopics

# Spark reads single quotes as JSON by default; nobody else does.
_JSON_OPTIONS: Final = {"allowSingleQuotes": "false"}
_NUMBER: Final = "^[-+]?[0-9][-+0-9.eE]*$"
_WORDS: Final = ("true", "false", "NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF")


def parsed(records: DataFrame, topics: EventTopics) -> DataFrame:
    """Return `records` (value, topic, timestamp, and whatever else) with `kind`, `json` (the fields as they were found)
    and `reason`: why the record is a dead letter, null where the event is good."""
    read = F.from_json(_text(), events.json_schema(), _JSON_OPTIONS)
    # A generator of one row is the fence that the optimizer respects: it would push a later filter, and with it a
    # second parse (or a third), below this one.
    once = F.inline(F.array(F.struct(_kind(topics).alias("kind"), read.alias("json"))))
    return records.select("*", once).select("*", _reason().alias("reason"))


def events_of(parsed_records: DataFrame) -> DataFrame:
    """Return every record with the fields that results are made of: null where it is a dead letter."""
    names = ("event_id", "at", "user_agent", "dwell_ms", "product_id", "amount_cents")
    fields = [F.when(F.col("reason").isNull(), _value(name)).alias(name) for name in names]
    columns = (*COORDINATES, "timestamp")
    return parsed_records.select(*columns, "kind", *fields)


def dead_letters(parsed_records: DataFrame, topic: str) -> DataFrame:
    """Return the dead letters as records for the sink: why, whence, and the bytes as they were. They are keyed as the
    original, so that what one user did stays in order."""
    letter = F.struct("reason", "topic", "partition", "offset", "timestamp", _base64().alias("value_base64"))
    bad = parsed_records.where("reason is not null")
    return bad.select("key", F.to_json(letter).alias("value"), F.lit(topic).alias("topic"))


def _kind(topics: EventTopics) -> Column:
    kind = F.lit(None).cast("string")
    for name, topic in topics.names.items():
        kind = F.when(F.col("topic") == topic, name).otherwise(kind)
    return kind


def _reason() -> Column:
    common = (_has(name, type_) for name, type_ in events.COMMON_FIELDS.items())
    is_complete = reduce(Column.__and__, common, _is_whole_text())
    late_ms = F.unix_millis("timestamp") - F.col("json.at")
    return (
        F.when(~(is_complete & _has_its_own()), F.when(_is_json(), events.WRONG_FIELD).otherwise(events.NOT_JSON))
        .when(F.coalesce(F.col("json.amount_cents"), F.lit(0)) < 0, events.NEGATIVE_AMOUNT)
        .when(late_ms > events.LATENESS_MS_MAX, events.TOO_LATE)
        .when(late_ms < -events.FUTURE_MS_MAX, events.IN_THE_FUTURE)
    )


def _has_its_own() -> Column:
    """Return the condition that an event has all fields of its kind."""
    has = F.lit(False)
    for kind, fields in events.OWN_FIELDS.items():
        own = reduce(Column.__and__, (_has(name, type_) for name, type_ in fields.items()))
        if kind == events.PURCHASE_COMPLETED:
            own = own & _has_items()
        has = F.when(F.col("kind") == kind, own).otherwise(has)
    return has


def _has_items() -> Column:
    def is_item(item: Column, is_string: Callable[[Column], Column]) -> Column:
        fields = events.ITEM_FIELDS.items()
        checks = (is_string(item[name]) if type_ == "string" else item[name].isNotNull() for name, type_ in fields)
        return item.isNotNull() & reduce(Column.__and__, checks)

    strings = [name for name, type_ in events.ITEM_FIELDS.items() if type_ == "string"]
    is_doubtful = F.exists("json.items", lambda item: reduce(Column.__or__, (_is_doubtful(item[n]) for n in strings)))
    exact = F.forall(_again(events.items_schema(events.EXACT_TYPES), "items"), lambda item: is_item(item, _is_string))
    quick = F.forall("json.items", lambda item: is_item(item, Column.isNotNull))
    return F.coalesce(F.when(is_doubtful, exact).otherwise(quick), F.lit(False))


def _has(name: str, type_: events.FieldType) -> Column:
    """Return the condition that an event has a field of a type. Integers of a wrong type are null already. The
    condition is never null itself, so that `not` means what it says."""
    field = F.col(f"json.{name}")
    if type_ == "integer":
        return field.isNotNull()
    exact = _is_string(_again(f"{name} {events.EXACT_TYPES[type_]}", name))
    return F.when(_is_doubtful(field), exact).otherwise(field.isNotNull())


def _is_doubtful(text: Column) -> Column:
    """Return the condition that what was read as a string may have been a number, a word or a structure."""
    is_number = (text < ":") & text.rlike(_NUMBER)
    return F.coalesce(is_number | text.startswith("{") | text.startswith("[") | text.isin(*_WORDS), F.lit(False))


def _is_string(variant: Column) -> Column:
    return F.coalesce(F.schema_of_variant(variant) == "STRING", F.lit(False))


def _again(schema: str, name: str) -> Column:
    """Parse a field once more, with another schema; only for a branch that few records take."""
    return F.from_json(_text(), schema, _JSON_OPTIONS)[name]


def _value(name: str) -> Column:
    return F.col(f"json.{name}")


def _is_json() -> Column:
    """Return the condition that a record is an object in JSON."""
    kind = F.schema_of_variant(F.try_parse_json(_text()))
    return F.coalesce(_is_whole_text() & kind.startswith("OBJECT"), F.lit(False))


def _is_whole_text() -> Column:
    """Return the condition that a record is UTF-8 and ends with its object. Spark's reader takes bytes that are no
    UTF-8, and stops after the first value whatever follows: we do not."""
    ends_well = _text().endswith("}") | F.btrim(_text(), F.lit(" \t\r\n")).endswith("}")  # nearly always at once
    return F.coalesce(F.is_valid_utf8(_text()) & ends_well, F.lit(False))


def _text() -> Column:
    return F.col("value").cast("string")


def _base64() -> Column:
    """Return the value in base64, in one line."""
    return F.translate(F.base64("value"), "\r\n", "")
