"""Without the extra `registry`: the error says what to install."""

import sys

import pytest
from tests.unit.pyspark_tidelog.decoding.descriptors import descriptor_set

from pyspark_tidelog.decoding.avro import reader_schema
from pyspark_tidelog.decoding.errors import RegistryError
from pyspark_tidelog.decoding.protobuf import ProtobufDecoder
from pyspark_tidelog.decoding.registry import Registry

STEP = r"is not installed; pip install tidelog\[registry\]"


def test_no_fastavro(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(RegistryError, match=f"^fastavro {STEP}"):
        reader_schema('{"type": "string", "doc": "not asked for by any other test"}')


def test_no_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    files = descriptor_set() + descriptor_set()  # unlike that of any other test
    monkeypatch.setitem(sys.modules, "google.protobuf.descriptor_pool", None)
    with pytest.raises(RegistryError, match=f"^protobuf {STEP}"):
        _ = ProtobufDecoder("shop.Order", files, None).arrow_type


def test_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka.schema_registry", None)
    with pytest.raises(RegistryError, match=f"^confluent-kafka .*{STEP}"):
        Registry("http://127.0.0.1:9/missing").schema(1, "AVRO")
