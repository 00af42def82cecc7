"""What a task yields from a log that is a list, and what it says when the log is not what the driver planned for."""

import logging
import pickle
from typing import Any

import pytest
from tests.unit.client.fetch_log import TOPIC_ID, FetchLog, Step, partition_of, refused
from tests.unit.records.raw import batch, content, field, record, varint

from pyspark_tidelog.errors import ClusterError, DataLoss, TidelogError
from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.record_batches import batches_of, record_batches
from tidelog.client.arrow import fetched_columns
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.fetch import FetchResponse
from tidelog.records.compression import CompressionType, compress

CLUSTER = ClusterOptions("127.0.0.1:1", "me", 1_000, 2_000, None)


def plain(base: int, count: int = 10) -> bytes:
    parts = [record(content(varint(delta), value=field(b"%d" % (base + delta)))) for delta in range(count)]
    return batch(*parts, base_offset=base)


def task_of(start: int, end: int, *, fail_on_data_loss: bool = True, **fetch: Any) -> FetchTask:
    settings = FetchSettings(**{"partition_bytes": 200, **fetch})
    return FetchTask(CLUSTER, settings, "orders", TOPIC_ID, 3, start, end, ("offset",), fail_on_data_loss)


def offsets(log: FetchLog, task: FetchTask) -> list[int]:
    found = batches_of(task, log.client(retry_timeout_ms=2_000), log.open_link)
    return [offset for each in found for offset in each.column(0).to_pylist()]


def test_a_task_pickles() -> None:
    task = task_of(1, 2)
    assert pickle.loads(pickle.dumps(task)) == task


def test_an_empty_range_asks_nobody() -> None:
    assert list(record_batches(task_of(5, 5))) == []


def test_nobody_there_is_told_with_the_place() -> None:
    with pytest.raises(ClusterError, match="read orders-3, offsets 1 to 8: ") as caught:
        list(record_batches(task_of(1, 9)))
    assert "127.0.0.1:1" in str(caught.value)


def test_the_range_and_nothing_else() -> None:
    log = FetchLog(plain(0), plain(10), plain(20))
    assert offsets(log, task_of(3, 24)) == list(range(3, 24))


def test_lost_to_retention_fails_with_all_that_is_known() -> None:
    log = FetchLog(plain(10), plain(20))
    log.log_start_offset = 12
    with pytest.raises(DataLoss) as caught:
        offsets(log, task_of(3, 24))
    loss = caught.value
    assert (loss.topic, loss.partition, loss.wanted, loss.available) == ("orders", 3, 3, (12, 30))
    assert str(loss).startswith("orders-3: offset 3 is wanted, offsets 12 to 29 are available")


def test_lost_to_retention_is_skipped_where_that_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    log = FetchLog(plain(10), plain(20))
    log.log_start_offset = 12
    with caplog.at_level(logging.WARNING, "pyspark_tidelog"):
        assert offsets(log, task_of(3, 24, fail_on_data_loss=False)) == list(range(12, 24))
        assert offsets(log, task_of(3, 9, fail_on_data_loss=False)) == []
    first, second = caplog.messages
    assert first.startswith("orders-3: offsets 3 to 11 are lost and skipped (failOnDataLoss is false)")
    assert second.startswith("orders-3: offsets 3 to 8 are lost")


def test_lost_to_a_truncation() -> None:
    log = FetchLog(plain(0))
    with pytest.raises(DataLoss) as caught:
        offsets(log, task_of(15, 24))
    assert (caught.value.wanted, caught.value.available) == (15, (0, 10))
    assert offsets(log, task_of(15, 24, fail_on_data_loss=False)) == []


def test_rows_before_the_truncation_are_kept() -> None:
    log = FetchLog(plain(0))

    def time_passes(_response: FetchResponse) -> None:
        log.clients[0].world.clock.advance(500)  # type: ignore[attr-defined]

    log.script = [time_passes] * 9
    assert offsets(log, task_of(5, 24, fail_on_data_loss=False)) == list(range(5, 10))


def test_another_topic_of_the_same_name_is_never_read() -> None:
    log = FetchLog(plain(0))
    log.client()
    task = FetchTask(CLUSTER, FetchSettings(), "orders", Uuid(b"of before, gone "), 3, 0, 10, ("offset",), True)
    with pytest.raises(DataLoss, match="made anew"):
        list(batches_of(task, log.client(), log.open_link))
    lenient = FetchTask(CLUSTER, FetchSettings(), "orders", Uuid(b"of before, gone "), 3, 0, 10, ("offset",), False)
    assert list(batches_of(lenient, log.client(), log.open_link)) == []


def test_a_refusal_is_told_in_our_words() -> None:
    log = FetchLog(plain(0))
    log.script = [refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(ClusterError) as caught:
        offsets(log, task_of(0, 10))
    assert str(caught.value).startswith("read orders-3, offsets 0 to 9: TOPIC_AUTHORIZATION_FAILED")
    assert caught.value.__suppress_context__, "Spark would print the client's error above ours"


def damaged(at: int) -> Step:
    def change(response: FetchResponse) -> None:
        records = bytearray(partition_of(response).records or b"")
        records[at] ^= 1
        partition_of(response).records = bytes(records)

    return change


def test_a_corrupt_batch_is_named_with_topic_partition_and_offset() -> None:
    log = FetchLog(plain(0), plain(10))
    log.script = [lambda _response: None, damaged(70)]
    with pytest.raises(TidelogError, match=r"^orders-3: the record batch at offset 10 cannot be read: .*checksum"):
        offsets(log, task_of(0, 20))


def test_the_checksum_can_be_left_alone() -> None:
    log = FetchLog(plain(0))
    log.script = [damaged(17)]  # of the checksum itself
    assert offsets(log, task_of(0, 10, verify_crc=False)) == list(range(10))


def test_no_batch_before_a_corrupt_one_is_lost_and_none_is_half_there() -> None:
    log = FetchLog(plain(0), plain(10))
    log.script = [lambda _response: None, damaged(70)]
    found = batches_of(task_of(0, 20), log.client(), log.open_link)
    assert next(found).num_rows == 10
    with pytest.raises(TidelogError):
        next(found)


def test_a_caller_that_stops_early_leaves_no_connection() -> None:
    log = FetchLog(plain(0), plain(10))
    links: list[Any] = []

    def remembered(*arguments: Any) -> Any:
        links.append(log.open_link(*arguments))
        return links[-1]

    found: Any = batches_of(task_of(0, 20), log.client(), remembered)
    next(found)
    found.close()
    assert [link.is_closed for link in links] == [True]


def zipped(base: int, value_bytes: int, count: int) -> bytes:
    parts = [record(content(varint(delta), value=field(b"x" * value_bytes))) for delta in range(count)]
    body = compress(CompressionType.ZSTD, b"".join(parts))
    return batch(body, count=count, base_offset=base, last_offset_delta=count - 1, attributes=4)


def test_what_inflates_beyond_the_buffer_comes_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched_columns, "BUFFER_BYTES", 1 << 16)
    log = FetchLog(zipped(0, 30_000, 100), zipped(100, 10_000, 10), zipped(110, 10_000, 10))
    found = list(batches_of(task_of(0, 120, partition_bytes=1 << 20), log.client(), log.open_link))
    assert len(log.requests) == 1
    assert [each.num_rows for each in found] == [70, 30, 10, 10], "2 MB a record batch, a buffer at a time"


def test_a_batch_that_inflates_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched_columns, "BATCH_BYTES_MAX", 10_000)
    log = FetchLog(zipped(0, 30_000, 10))
    with pytest.raises(TidelogError, match="at offset 0 cannot be read: inflates to more than the limit"):
        offsets(log, task_of(0, 10))
