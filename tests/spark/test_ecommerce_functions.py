"""What the e-commerce pipeline computes, in one go and in many micro-batches, against the truth of its traffic."""

import base64
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from tests.spark.ecommerce_traffic import START_MS, TrafficLog, data_frame, traffic

from tidelog_pipelines.ecommerce.events import EventTopics
from tidelog_pipelines.ecommerce.parse import dead_letters, parsed
from tidelog_pipelines.ecommerce.queries import result_records
from tidelog_pipelines.ecommerce.settings import Settings
from tidelog_pipelines.traffic.results import ResultState

SETTINGS = Settings("nowhere:9092", "/nowhere")
TOPICS = EventTopics()
COMMON: dict[str, Any] = {
    "event_id": "e1",
    "user_id": "u000001",
    "session_id": "s1",
    "at": START_MS,
    "user_agent": "Firefox",
    "dwell_ms": 50,
}
VIEW = COMMON | {"product_id": "p0001", "category": "café", "price_cents": 5}
CART = COMMON | {"product_id": "p0001", "quantity": 2, "price_cents": 5}
ITEM: dict[str, Any] = {"product_id": "p0001", "quantity": 2, "price_cents": 5}
PURCHASE = COMMON | {"order_id": "o1", "items": [ITEM], "amount_cents": 10}


def state_of(rows: list[Row]) -> ResultState:
    state = ResultState()
    for row in rows:
        state.add(row.topic, None if row.key is None else bytes(row.key, "utf-8"), bytes(row.value, "utf-8"), START_MS)
    return state


def test_results_and_dead_letters_of_a_day_in_one_batch(spark: SparkSession) -> None:
    sent, truth = traffic(6_000)
    log = TrafficLog(uuid.uuid4().hex)
    records = data_frame(spark, log.rows(sent)).cache()
    letters = (
        dead_letters(parsed(records, TOPICS), "dead_letters").drop("key").selectExpr("null as key", "value", "topic")
    )
    state = state_of(result_records(records, SETTINGS, log).collect() + letters.collect())
    records.unpersist()
    assert truth.repeats > 0
    assert truth.robots > 0
    assert set(truth.dead_letters) >= {"not JSON", "missing or wrong-typed field", "too late"}
    assert state.faults == []
    assert state.answers(dict(truth.records)) == truth.answers()


def test_micro_batches_and_a_restart_give_the_same(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    sent, truth = traffic(3_000)
    log = TrafficLog(uuid.uuid4().hex)
    rows = log.rows(sent)
    results: list[Row] = []

    def keep(batch: DataFrame, _batch_id: int) -> None:
        results.extend(batch.collect())

    def run() -> None:
        schema = data_frame(spark, []).schema
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "events"))
        writer = result_records(stream, SETTINGS, log).writeStream.outputMode("update").foreachBatch(keep)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()

    for begin in (0, 1_000, 2_000):
        data_frame(spark, rows[begin : begin + 1_000]).write.mode("append").parquet(str(tmp_path / "events"))
        if begin > 0:  # the second run goes on from the checkpoint of the first
            run()
    state = state_of(results)
    expected = truth.answers()
    found = state.answers(dict(truth.records))
    assert state.faults == []
    assert (found.sales_5m, found.sales_per_minute) == (expected.sales_5m, expected.sales_per_minute)
    assert found.top_viewed_products == expected.top_viewed_products


WRONG = "missing or wrong-typed field"
CASES: list[tuple[str, object, int, str | None]] = [
    ("product_viewed", VIEW, 0, None),
    ("add_to_cart", CART, 0, None),
    ("purchase_completed", PURCHASE, 0, None),
    ("product_viewed", VIEW | {"more": {"than": ["asked"]}}, 0, None),
    ("product_viewed", VIEW, 30_000, None),
    ("product_viewed", VIEW, 30_001, "too late"),
    ("product_viewed", VIEW, -30_001, "in the future"),
    ("product_viewed", CART, 0, WRONG),
    ("purchase_completed", PURCHASE | {"amount_cents": -1}, 0, "negative amount"),
    ("purchase_completed", PURCHASE | {"amount_cents": 0, "items": []}, 0, None),
    ("purchase_completed", PURCHASE | {"items": [ITEM, {"product_id": "p0001", "quantity": 2}]}, 0, WRONG),
    ("purchase_completed", PURCHASE | {"items": [ITEM | {"product_id": 1}]}, 0, WRONG),
    ("purchase_completed", PURCHASE | {"items": [None]}, 0, WRONG),
    ("purchase_completed", PURCHASE | {"items": ITEM}, 0, WRONG),
    ("product_viewed", b"", 0, "not JSON"),
    ("product_viewed", None, 0, "not JSON"),
    ("product_viewed", b"Connection reset by peer", 0, "not JSON"),
    ("product_viewed", json.dumps(VIEW).encode()[:-1], 0, "not JSON"),
    ("product_viewed", json.dumps(VIEW).encode() + b" and more", 0, "not JSON"),
    ("product_viewed", json.dumps(VIEW).encode() + b"\n", 0, None),
    ("product_viewed", [VIEW], 0, "not JSON"),
    ("product_viewed", 5, 0, "not JSON"),
    ("product_viewed", json.dumps(VIEW).replace('"', "'").encode(), 0, "not JSON"),
    ("product_viewed", json.dumps(VIEW, ensure_ascii=False).encode("latin-1"), 0, "not JSON"),
    ("product_viewed", {}, 0, WRONG),
    *(("product_viewed", {**VIEW, name: None}, 0, WRONG) for name in VIEW),
    *(("product_viewed", {other: VIEW[other] for other in VIEW if other != name}, 0, WRONG) for name in VIEW),
    *(("product_viewed", {**VIEW, name: 5}, 0, WRONG) for name in VIEW if isinstance(VIEW[name], str)),
    *(("product_viewed", {**VIEW, name: True}, 0, WRONG) for name in VIEW),
    *(
        ("product_viewed", json.dumps(VIEW).replace('"p0001"', wrong).encode(), 0, WRONG)
        for wrong in ("-5", "5.5", "1e5", "0", "false", "{}", '{"a":"b"}', "[]", '["a"]', "null")
    ),
    *(
        ("product_viewed", {**VIEW, "product_id": text}, 0, None)
        for text in ("5", "-5.5", "1e5", "true", "null", "NaN", "{}", "[1]", "7-18f", "", " 5", '{"a":"b"}')
    ),
    ("purchase_completed", PURCHASE | {"items": [ITEM | {"product_id": "1"}]}, 0, None),
    ("purchase_completed", PURCHASE | {"items": [ITEM, ITEM | {"product_id": "{}"}, ITEM]}, 0, None),
    ("purchase_completed", PURCHASE | {"items": [ITEM, ITEM | {"product_id": {}}]}, 0, WRONG),
    ("purchase_completed", PURCHASE | {"items": [ITEM | {"product_id": "1"}, ITEM | {"product_id": True}]}, 0, WRONG),
    *(("add_to_cart", {**CART, name: wrong}, 0, WRONG) for name in ("at", "quantity") for wrong in ("5", 5.0, 5.5)),
]


@pytest.fixture(scope="module")
def judged(spark: SparkSession) -> list[Row]:
    rows = []
    for number, (topic, value, late_ms, _reason) in enumerate(CASES):
        raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        rows.append((b"k", raw, topic, 1, number, START_MS + late_ms))
    return sorted(parsed(data_frame(spark, rows), TOPICS).collect(), key=lambda row: int(row.offset))  # type: ignore[arg-type]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_record_is_an_event_or_has_a_reason(number: int, judged: list[Row]) -> None:
    assert judged[number].reason == CASES[number][3], CASES[number]


def test_a_dead_letter_says_why_and_whence_with_the_bytes_as_they_were(spark: SparkSession) -> None:
    raw = b"\xff\x00" * 100
    records = data_frame(
        spark,
        [
            (b"u1", raw, "add_to_cart", 3, 42, START_MS),
            (b"u2", json.dumps(CART).encode(), "add_to_cart", 3, 43, START_MS),
        ],
    )
    (row,) = dead_letters(parsed(records, TOPICS), "x-dead_letters").collect()
    letter = json.loads(row.value)
    assert (bytes(row.key), row.topic) == (b"u1", "x-dead_letters")
    assert (letter["reason"], letter["topic"], letter["partition"], letter["offset"]) == (
        "not JSON",
        "add_to_cart",
        3,
        42,
    )
    assert letter["timestamp"] == "2026-09-21T14:13:20.000Z"
    assert "\n" not in letter["value_base64"]
    assert base64.b64decode(letter["value_base64"], validate=True) == raw


@pytest.mark.parametrize(
    ("topic", "event", "is_counted"),
    [
        ("product_viewed", VIEW, True),
        ("product_viewed", VIEW | {"dwell_ms": 49}, False),
        ("purchase_completed", PURCHASE | {"dwell_ms": 0}, True),
        ("purchase_completed", PURCHASE | {"user_agent": "some SPIDER"}, False),
        ("product_viewed", VIEW | {"user_agent": "about:HeadLess"}, False),
        ("add_to_cart", CART, False),
    ],
)
def test_what_is_counted(topic: str, event: dict[str, Any], is_counted: bool, spark: SparkSession) -> None:
    records = data_frame(spark, [(b"u1", json.dumps(event).encode(), topic, 0, 0, START_MS)])
    found = result_records(records, SETTINGS, TrafficLog(uuid.uuid4().hex)).collect()
    assert (len(found) > 0) == is_counted


def test_json_is_parsed_once(spark: SparkSession) -> None:
    """The optimizer would like to do it again for every filter."""
    records = spark.createDataFrame([], data_frame(spark, []).schema)
    plan = result_records(records, SETTINGS, TrafficLog("plan"))._jdf.queryExecution().executedPlan().toString()
    whole = "from_json(StructField(event_id,StringType"
    assert plan.count(whole) == 1
    of_one_field = plan.count("from_json(") - 1
    assert (
        plan.count("THEN coalesce((static_invoke(SchemaOfVariant.schemaOfVariant(from_json(")
        + plan.count("THEN forall(from_json(")
        == of_one_field
    )
