"""Avro values through a registry: versions resolved, schemas asked for once, rows at fault named or null."""

import io
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.unit.pyspark_tidelog.decoding.fake_registry import FakeRegistry

from pyspark_tidelog.decoding.avro import AvroDecoder
from pyspark_tidelog.decoding.errors import BadValue, RegistryError, UndecodableValue
from pyspark_tidelog.decoding.registry import Registry
from pyspark_tidelog.decoding.rows import decode_rows
from pyspark_tidelog.errors import OptionError

fastavro = pytest.importorskip("fastavro")
pa = pytest.importorskip("pyarrow")


def record(*fields: tuple[str, Any], name: str = "Order") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields]}


ORDER = record(("id", "long"), ("note", ["null", "string"]))


def framed(schema_id: int, schema: Any, value: Any) -> bytes:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), value)
    return b"\0" + schema_id.to_bytes(4, "big") + data.getvalue()


def decoder(registry: FakeRegistry, schema: Any = ORDER) -> AvroDecoder:
    return AvroDecoder(json.dumps(schema), Registry(registry.url, {"max.retries": 0}))


def test_values_of_several_versions_get_one_shape(registry: FakeRegistry) -> None:
    older, newer = record(("id", "int")), record(("extra", "string"), ("id", "long"), ("note", "string"))
    registry.add(1, json.dumps(older))
    registry.add(2, json.dumps(newer))
    wanted = record(("id", "long"))
    wanted["fields"].append({"name": "note", "type": ["null", "string"], "default": None})
    values = [framed(1, older, {"id": 7}), framed(2, newer, {"extra": "x", "id": 8, "note": "n"}), None]
    reading = decoder(registry, wanted)
    found = decode_rows(pa.array(values, pa.binary()), reading.decode, reading.arrow_type, "fail")
    assert found.to_pylist() == [{"id": 7, "note": None}, {"id": 8, "note": "n"}, None]
    assert found.type == pa.struct([("id", pa.int64()), ("note", pa.string())])


def test_a_schema_is_asked_for_once_a_process(registry: FakeRegistry) -> None:
    registry.add(1, json.dumps(ORDER))
    value = framed(1, ORDER, {"id": 7, "note": None})
    for _ in range(3):
        copy = pickle.loads(pickle.dumps(decoder(registry)))
        assert [copy.decode(value)["id"] for _ in range(3)] == [7, 7, 7]
    assert len(registry.asked) == 1


def test_what_is_not_there_is_asked_for_once_too(registry: FakeRegistry) -> None:
    reading = decoder(registry)
    for _ in range(3):
        with pytest.raises(BadValue, match=f"registry at {registry.url} has no schema 9"):
            reading.decode(b"\0\0\0\0\x09data")
    assert len(registry.asked) == 1


def test_what_was_not_there_may_come(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("pyspark_tidelog.decoding.registry.monotonic", lambda: now[0])
    reading, value = decoder(registry), framed(9, ORDER, {"id": 7, "note": None})
    with pytest.raises(BadValue):
        reading.decode(value)
    registry.add(9, json.dumps(ORDER))
    with pytest.raises(BadValue):
        reading.decode(value)
    now[0] += 11
    assert reading.decode(value)["id"] == 7


def test_schemas_that_refer_to_others(registry: FakeRegistry) -> None:
    money = record(("cents", "long"), name="shop.Money")
    line = record(("price", "shop.Money"), name="shop.Line")
    order = record(("line", "shop.Line"), ("tip", "shop.Money"), name="shop.Order")
    registry.add(1, json.dumps(money), subject="shop.Money")
    registry.add(2, json.dumps(line), subject="shop.Line", references=["shop.Money"])
    registry.add(3, json.dumps(order), references=["shop.Line", "shop.Money"])
    whole = record(("line", record(("price", money), name="shop.Line")), ("tip", "shop.Money"), name="shop.Order")
    value = {"line": {"price": {"cents": 5}}, "tip": {"cents": 1}}
    assert decoder(registry, whole).decode(framed(3, whole, value)) == value


EVERYTHING = record(
    ("flag", "boolean"),
    ("i", "int"),
    ("f", "float"),
    ("d", "double"),
    ("raw", "bytes"),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}),
    ("hash", {"type": "fixed", "name": "Hash", "size": 2}),
    ("tags", {"type": "array", "items": ["null", "string"]}),
    ("counts", {"type": "map", "values": "long"}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("at", {"type": "long", "logicalType": "timestamp-millis"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
    ("time", {"type": "long", "logicalType": "time-micros"}),
    ("uuid", {"type": "string", "logicalType": "uuid"}),
    ("other", "Kind"),
)


def test_every_type_has_its_column(registry: FakeRegistry) -> None:
    registry.add(1, json.dumps(EVERYTHING))
    at = datetime(2026, 11, 15, 9, 0, 0, 5000, UTC)
    value: dict[str, Any] = {
        "flag": True, "i": 1, "f": 0.5, "d": 0.25, "raw": b"\0", "kind": "B", "hash": b"ab", "tags": ["x", None],
        "counts": {"k": 3}, "day": date(2026, 11, 15), "at": at, "local": at.replace(tzinfo=None),
        "price": Decimal("1.50"), "time": 77, "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "other": "A",
    }  # fmt: skip
    plain = json.loads(
        json.dumps(EVERYTHING).replace('"logicalType": "time-micros"', '"x": 0').replace('"uuid"}', '"x"}')
    )
    reading = decoder(registry, EVERYTHING)
    found = decode_rows(pa.array([framed(1, plain, value)]), reading.decode, reading.arrow_type, "fail")
    assert found.to_pylist() == [value | {"counts": [("k", 3)]}]
    assert str(found.type) == (
        "struct<flag: bool, i: int32, f: float, d: double, raw: binary, kind: string, hash: binary, "
        "tags: list<item: string>, counts: map<string, int64>, day: date32[day], at: timestamp[us, tz=UTC], "
        "local: timestamp[us], price: decimal128(10, 2), time: int64, uuid: string, other: string>"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not what schema 1 says: the value ends too soon"),
        (b"\x0e", "not what schema 1 says"),
        (b"\x0e\0rest", r"4 byte\(s\) are left over after what schema 1 says"),
        (b"\x0e\x08", "not what schema 1 says"),
        (b"\xff" * 20, "not what schema 1 says"),
    ],
)
def test_a_bad_row_is_named_or_null(registry: FakeRegistry, data: bytes, reason: str) -> None:
    registry.add(1, json.dumps(ORDER))
    good = framed(1, ORDER, {"id": 7, "note": "n"})
    values = pa.array([good, b"\0\0\0\0\1" + data, good], pa.binary())
    reading = decoder(registry)
    place = (pa.array(["t"] * 3), pa.array([4] * 3), pa.array([10, 11, 12]))
    with pytest.raises(UndecodableValue, match=f"^t-4, offset 11: the value cannot be decoded: {reason}"):
        decode_rows(values, reading.decode, reading.arrow_type, "fail", place)
    with pytest.raises(UndecodableValue, match=f"^row 1 of a batch: the value cannot be decoded: {reason}"):
        decode_rows(values, reading.decode, reading.arrow_type, "fail")
    found = decode_rows(values, reading.decode, reading.arrow_type, "null")
    assert [row and row["id"] for row in found.to_pylist()] == [7, None, 7]


def test_a_schema_of_another_kind_is_the_rows_fault(registry: FakeRegistry) -> None:
    registry.add(1, "syntax = 'proto3';", "PROTOBUF")
    with pytest.raises(BadValue, match="is PROTOBUF, not AVRO"):
        decoder(registry).decode(b"\0\0\0\0\1data")


def test_a_registry_that_says_no_is_nobodys_null(registry: FakeRegistry) -> None:
    registry.broken = True
    reading = decoder(registry)
    with pytest.raises(RegistryError, match=r"ask for schema 1: who are you\?.*registry at http"):
        decode_rows(pa.array([b"\0\0\0\0\1data"]), reading.decode, reading.arrow_type, "null")


def test_a_registry_that_is_not_there() -> None:
    reading = AvroDecoder(json.dumps(ORDER), Registry("http://127.0.0.1:9", {"max.retries": 0}))
    with pytest.raises(RegistryError, match="see that the registry runs"):
        reading.decode(b"\0\0\0\0\1data")


def test_wrong_settings_of_a_registry() -> None:
    reading = AvroDecoder(json.dumps(ORDER), Registry("http://127.0.0.1:9", {"max.retrys": 0}))
    with pytest.raises(RegistryError, match=r"Unrecognized properties: max\.retrys"):
        reading.decode(b"\0\0\0\0\1data")


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("{", "not JSON"),
        (json.dumps(record(("x", ["int", "string"]))), "a value that is int or string has no type in Spark"),
        (json.dumps(record(("x", "whatever"))), "Avro has no type whatever"),
        (json.dumps(record(("next", ["null", "Order"]))), "Order contains itself"),
        (
            json.dumps(record(("x", {"type": "bytes", "logicalType": "decimal", "precision": 39}))),
            "a decimal of 39 digits",
        ),
    ],
)
def test_readers_schemas_that_spark_has_no_type_for(schema: str, reason: str) -> None:
    with pytest.raises(OptionError, match=f"^schema: .*{reason}"):
        _ = AvroDecoder(schema, Registry("http://nowhere")).arrow_type
