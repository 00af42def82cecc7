"""Protobuf values: every sort of field, the message that a value says it is, rows at fault."""

import base64
import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("google.protobuf")
pa = pytest.importorskip("pyarrow")

from tests.unit.pyspark_tidelog.decoding.descriptors import descriptor_set, message_class, shop_file  # noqa: E402
from tests.unit.pyspark_tidelog.decoding.fake_registry import FakeRegistry  # noqa: E402

from pyspark_tidelog.decoding.errors import BadValue, RegistryError, UndecodableValue  # noqa: E402
from pyspark_tidelog.decoding.protobuf import ProtobufDecoder  # noqa: E402
from pyspark_tidelog.decoding.registry import Registry  # noqa: E402
from pyspark_tidelog.decoding.rows import decode_rows  # noqa: E402
from pyspark_tidelog.errors import OptionError  # noqa: E402

HEAD = b"\0\0\0\0\1"
NOTE, ORDER, LINE = b"\0", b"\2\2", b"\4\2\0"


def decoder(registry: FakeRegistry | None = None, message: str = "shop.Order") -> ProtobufDecoder:
    asked = None if registry is None else Registry(registry.url, {"max.retries": 0})
    return ProtobufDecoder(message, descriptor_set(), asked)


def serialized() -> str:
    return base64.b64encode(shop_file().SerializeToString()).decode()


def test_every_sort_of_field() -> None:
    at = datetime(2026, 11, 15, 9, 0, 0, 5000, UTC)
    order = message_class("shop.Order")(
        id=-7, small=4_000_000_000, big=2**64 - 1, raw=b"\0", flag=True, ratio=0.5, status=1, first={"sku": "a"},
        lines=[{"sku": "b", "price": 2.5}], tags=["x", "y"], counts={"k": 3}, nick="",
    )  # fmt: skip
    order.at.FromDatetime(at)
    reading = decoder()
    values = pa.array([HEAD + ORDER + order.SerializeToString(), None])
    found = decode_rows(values, reading.decode, reading.arrow_type, "fail")
    assert found.to_pylist() == [
        {
            "id": -7, "small": 4_000_000_000, "big": Decimal(2**64 - 1), "raw": b"\0", "flag": True, "ratio": 0.5,
            "status": "PAID", "first": {"sku": "a", "price": 0.0}, "lines": [{"sku": "b", "price": 2.5}],
            "tags": ["x", "y"], "counts": [("k", 3)], "at": at, "nick": "",
        },
        None,
    ]  # fmt: skip
    assert str(found.type) == (
        "struct<id: int64, small: int64, big: decimal128(20, 0), raw: binary, flag: bool, ratio: float, "
        "status: string, first: struct<sku: string, price: double>, "
        "lines: list<item: struct<sku: string, price: double>>, tags: list<item: string>, "
        "counts: map<string, int32>, at: timestamp[us, tz=UTC], nick: string>"
    )


def test_what_is_unset_is_null_where_that_can_be_told() -> None:
    found = decoder().decode(HEAD + ORDER)
    assert {name: found[name] for name in ("first", "at", "nick")} == {"first": None, "at": None, "nick": None}
    assert {name: found[name] for name in ("id", "status", "tags", "counts")} == {
        "id": 0,
        "status": "NEW",
        "tags": [],
        "counts": [],
    }


def test_an_enum_number_that_has_no_name_yet() -> None:
    assert decoder().decode(HEAD + ORDER + b"\x38\x09")["status"] == "9"


def test_the_registry_says_which_message_a_value_is(registry: FakeRegistry) -> None:
    registry.add(1, serialized(), "PROTOBUF")
    line = message_class("shop.Order.Line")(sku="s").SerializeToString()
    for _ in range(3):
        reading = pickle.loads(pickle.dumps(decoder(registry, "shop.Order.Line")))
        assert reading.decode(HEAD + LINE + line) == {"sku": "s", "price": 0.0}
        with pytest.raises(BadValue, match=r"it is a shop\.Note, not a shop\.Order\.Line \(schema 1\)"):
            reading.decode(HEAD + NOTE + line)
    assert registry.asked == ["/schemas/ids/1?format=serialized"]


def test_a_message_in_a_file_without_a_package(registry: FakeRegistry) -> None:
    file = shop_file()
    file.package = ""
    registry.add(1, base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF")
    with pytest.raises(BadValue, match=r"it is a Note, not a shop\.Order"):
        decoder(registry).decode(HEAD + NOTE)


@pytest.mark.parametrize("path", [b"\2\x40", b"\6\2\0\0"])
def test_a_path_that_leads_nowhere(registry: FakeRegistry, path: bytes) -> None:
    registry.add(1, serialized(), "PROTOBUF")
    with pytest.raises(BadValue, match="schema 1 has no message at"):
        decoder(registry).decode(HEAD + path)


def test_a_registry_that_only_has_text(registry: FakeRegistry) -> None:
    registry.add(1, 'syntax = "proto3"; message Note {}', "PROTOBUF")
    with pytest.raises(RegistryError, match="did not come as a serialized descriptor"):
        decoder(registry).decode(HEAD + NOTE)


def test_a_bad_row_is_named_or_null() -> None:
    reading = decoder()
    values = pa.array([HEAD + ORDER, HEAD + ORDER + b"\x0a\x05ab", b"plain text"])
    place: tuple[Any, ...] = (pa.array(["t"] * 3), pa.array([0] * 3), pa.array([5, 6, 7]))
    with pytest.raises(UndecodableValue, match=r"^t-0, offset 6: the value cannot be decoded: not a shop\.Order"):
        decode_rows(values, reading.decode, reading.arrow_type, "fail", place)
    found = decode_rows(values, reading.decode, reading.arrow_type, "null")
    assert [row is None for row in found.to_pylist()] == [False, True, True]


@pytest.mark.parametrize(
    ("message", "files", "reason"),
    [
        ("shop.Nothing", descriptor_set(), r"descriptor_set: there is no message shop\.Nothing in it"),
        ("shop.Order", b"\xff\xff", "descriptor_set: not a set of file descriptors"),
        ("shop.Order", b"", r"descriptor_set: there is no message shop\.Order in it"),
        ("shop.Tree", descriptor_set(), r"message: shop\.Tree contains itself"),
        ("shop.Empty", descriptor_set(), r"message: shop\.Empty has no fields"),
    ],
)
def test_messages_that_spark_has_no_type_for(message: str, files: bytes, reason: str) -> None:
    with pytest.raises(OptionError, match=f"^{reason}"):
        _ = ProtobufDecoder(message, files, None).arrow_type
