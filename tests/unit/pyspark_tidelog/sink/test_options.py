"""Options and columns of a write: what is taken, and what is refused with which words."""

import pickle

import pytest
from pyspark.sql.types import ArrayType, DataType, StringType, StructType

from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.sink.options import Guarantee, check_schema, sink_options
from pyspark_tidelog.sink.writers import batch_writer, stream_writer

SERVER = {"kafka.bootstrap.servers": "localhost:9092"}
VALUE = StructType().add("value", "string")


def test_defaults() -> None:
    found = sink_options(SERVER)
    assert found.guarantee is None
    assert found.topic is None
    assert found.ledger_topic == "__tidelog_spark_ledger"
    assert found.producer.idempotent
    assert pickle.loads(pickle.dumps(found)) == found


def test_names_have_no_case_and_sparks_own_are_taken() -> None:
    options = {**SERVER, "TOPIC": "t", "DeliveryGuarantee": "At-least-once", "checkpointLocation": "/c"}
    found = sink_options(options)
    assert (found.topic, found.guarantee) == ("t", Guarantee.AT_LEAST_ONCE)


def test_who_turns_idempotence_off_gets_at_least_once() -> None:
    assert sink_options({**SERVER, "kafka.acks": "1"}).guarantee is Guarantee.AT_LEAST_ONCE
    with pytest.raises(OptionError, match=r"^deliveryGuarantee: exactly-once needs kafka.acks all"):
        sink_options({**SERVER, "kafka.acks": "1", "deliveryGuarantee": "exactly-once"})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("topc", "t", r"^topc: is no option of a write; did you mean topic\?"),
        ("subscribe", "t", "^subscribe: is no option of a write"),
        ("deliveryGuarantee", "twice", "^deliveryGuarantee: 'twice' is not possible; choose exactly-once or at-least-"),
        ("topic", " ", "^topic: is empty"),
        ("acceptLostBatch", "x", "^acceptLostBatch: 'x' is not a whole number"),
        ("kafka.transactional.id", "x", "^kafka.transactional.id: is not supported"),
    ],
)
def test_refused(name: str, value: str, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        sink_options({**SERVER, name: value})


def schema(**types: str | DataType) -> StructType:
    made = StructType()
    for name, each in types.items():
        made = made.add(name, each)
    return made


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (schema(key="string"), "^there is no column `value` among key"),
        (VALUE, "^nothing says which topic"),
        (schema(value="integer", topic="string"), "^column `value` is int; cast it to string or binary"),
        (schema(value="string", topic="string", partition="long"), "^column `partition` is bigint; cast it to int"),
        (schema(value="string", topic="string", headers=ArrayType(StringType())), "^column `headers` is array<string>"),
        (schema(value="string", topic="string", colour="string"), "^column `colour` would not be written"),
    ],
)
def test_columns_refused(found: StructType, text: str) -> None:
    with pytest.raises(SinkError, match=text):
        check_schema(found, None)


def test_columns_taken() -> None:
    check_schema(VALUE, "t")
    headers = ArrayType(schema(key="string", value="binary"))
    check_schema(schema(key="binary", value="binary", topic="string", partition="integer", headers=headers), None)
    check_schema(schema(value="binary", topic="string", offset="long", timestamp="timestamp"), None)


def test_writers_travel_and_a_batch_has_an_id_of_its_own() -> None:
    options = {**SERVER, "topic": "t"}
    writer = batch_writer(options, VALUE, False)
    assert pickle.loads(pickle.dumps(writer)).__dict__ == writer.__dict__
    assert batch_writer(options, VALUE, False).__dict__ != writer.__dict__
    with pytest.raises(OptionError, match=r"^mode: a topic is not overwritten"):
        batch_writer(options, VALUE, True)
    assert pickle.loads(pickle.dumps(stream_writer(options, VALUE, True)))
