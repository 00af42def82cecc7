"""The records of the ledger, of this version and of the one before, and the ids that tell writers apart."""

import json

import pytest

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.decisions import Decision, Origin, Transaction
from pyspark_tidelog.sink.ledger_records import decode, encode, encode_key, writer_of
from pyspark_tidelog.sink.transactional_ids import TransactionalIds

RUN = "01234567-89ab-cdef-0123-456789abcdef"
DECISION = Decision(
    17,
    RUN,
    (Transaction("a", 1, 2), Transaction("b", 3, 0)),
    Origin("checkpoint", "digest"),
    ("aaaaaaaaaaaa",),
    {"out": "id1"},
    {"in": "id2"},
)


def test_the_ledger_says_what_was_decided_and_by_whom() -> None:
    assert decode(encode(DECISION)) == DECISION


def test_a_record_of_the_version_before() -> None:
    former = b'{"version":1,"batch":17,"run":"r","transactions":[["a",1,2]]}'
    assert decode(former) == Decision(17, "r", (Transaction("a", 1, 2),))


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b'{"version":2,"batch":1,"run":"r","transactions":[]}'])
def test_what_is_not_understood(value: bytes) -> None:
    for each in (value, encode(DECISION).replace(b'"version":2', b'"version":3')):
        with pytest.raises(SinkError, match="the ledger has a record that is not understood"):
            decode(each)


def test_a_key_names_prefix_query_and_name() -> None:
    keys = {encode_key(*writer) for writer in (("p", "a.b", ""), ("p", "a", "b"), ("p-a", "b", ""), ("p", "a b", ""))}
    assert len(keys) == 4
    assert writer_of(encode_key("p", "ä b", "n")) == ("p", "ä b", "n")
    assert writer_of(b"orders") is writer_of(b"17") is writer_of(json.dumps({"a": 1}).encode()) is None


def test_transactional_ids() -> None:
    ids = TransactionalIds("p", "query.x")
    first = ids.task(RUN, 6, 3)
    start = ids.driver.removesuffix("driver")
    assert start.startswith("p-query.x-")
    assert first == f"{start}0123456789ab-0-3"
    assert ids.task(RUN, 7, 3, 41) == f"{start}0123456789ab-1-3-41"
    assert ids.run_of(first) == ids.run_of(ids.task(RUN, 7, 3, 41)) == "0123456789ab"
    assert ids.run_of(ids.driver) is None


def test_no_writer_takes_anothers_transactions_for_its_own() -> None:
    writers = [
        TransactionalIds("p", "orders"),
        TransactionalIds("p", "orders-eu"),
        TransactionalIds("p", "orders", "eu"),
        TransactionalIds("p", "orders.eu"),
        TransactionalIds("p-orders", "eu"),
        TransactionalIds("p", "orders eu"),
        TransactionalIds("p", "orders_eu"),
        TransactionalIds("p", "orders-0123456789ab-0"),
    ]
    for one in writers:
        for other in writers:
            for name in (other.task(RUN, 1, 2), other.task(RUN, 0, 0, 7)):
                assert (one.run_of(name) is not None) == (one is other), (one, name)
    assert len({each.driver for each in writers}) == len(writers)


def test_what_the_version_before_left_behind() -> None:
    ids = TransactionalIds("p", "orders")
    assert ids.run_of("p-orders-0123456789ab-1-3") == ids.run_of("p-orders-0123456789ab-1-3-2") == "0123456789ab"
    assert ids.run_of("p-orders-eu-0123456789ab-1-3") is None
    assert ids.run_of("p-orders-driver") is None
    assert ids.former_ledger_key == b"orders"
    assert ids.former_driver == "p-orders-driver"
    ours = Decision(1, "r", (Transaction("p-orders-0123456789ab-1-3", 1, 0),))
    assert ids.is_ours(ours)
    assert not TransactionalIds("q", "orders").is_ours(ours)
    assert TransactionalIds("p", "orders", "eu").former_ledger_key == b"orders.eu"
