"""Logs of every kind, each with the rows that a reader must find in it. The rows are noted while the log is made, so
that none of our decoders takes part in it."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from tests.unit.client.fetch_log import FetchLog

from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.control import EndTransactionMarker
from tidelog.records.record import Header, Record

fields = st.none() | st.binary(max_size=8) | st.just(b"long " * 60)
headers = st.lists(st.builds(Header, st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple)
steps = st.integers(1, 2) | st.integers(1, 300)
times = st.integers(-1, 2**41)
records = st.tuples(steps, times, fields, fields, st.just(()) | headers)
producers = st.sampled_from([None, None, 1, 2])
batches = st.tuples(
    producers, st.sampled_from(CompressionType), st.none() | times, st.lists(records, min_size=1, max_size=6)
)
endings = st.tuples(st.sampled_from([1, 2]), st.booleans())
Row = dict[str, Any]


@dataclass
class MadeLog:
    log: FetchLog = field(default_factory=FetchLog)
    rows: list[tuple[int, Row]] = field(default_factory=list)  # with an index into `outcomes`; 0: no transaction
    outcomes: list[bool] = field(default_factory=lambda: [True])
    open: dict[int, tuple[int, int]] = field(default_factory=dict)  # producer id: outcome, first offset

    def visible(self, *, read_committed: bool) -> list[Row]:
        return [row for outcome, row in self.rows if not read_committed or self.outcomes[outcome]]

    def add(self, producer: int | None, codec: CompressionType, stamped: int | None, listed: list[Any]) -> None:
        options = BatchOptions(compression=codec, log_append_time=stamped)
        base, outcome = self.log.end + listed[0][0] - 1, 0
        if producer is not None:
            outcome, _ = self.open.setdefault(producer, (len(self.outcomes), base))
            if outcome == len(self.outcomes):
                self.outcomes.append(True)
            options.producer_id, options.producer_epoch, options.base_sequence = producer, 0, 0
            options.is_transactional = True
        builder = BatchBuilder(base, options=options)
        offset = base - listed[0][0]
        for step, timestamp, key, value, pairs in listed:
            offset += step
            builder.append_record(Record(offset, timestamp, key, value, pairs))
            shown = timestamp if stamped is None else stamped
            self.rows.append((outcome, row_of(offset, shown, int(stamped is not None), key, value, pairs)))
        self._append(builder.build(), offset + 1)

    def end(self, producer: int, committed: bool) -> None:
        if producer not in self.open:
            return
        outcome, first = self.open.pop(producer)
        self.outcomes[outcome] = committed
        options = BatchOptions(producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)
        builder = BatchBuilder(self.log.end, options=options)
        builder.append_marker(1, EndTransactionMarker(committed, 0))
        if not committed:
            self.log.aborted.append((producer, first, self.log.end))
        self._append(builder.build(), self.log.end + 1)

    def _append(self, batch: bytes, end: int) -> None:
        self.log.batches.append(batch)
        self.log.end = end


def row_of(offset: int, timestamp: int, kind: int, key: Any, value: Any, pairs: tuple[Header, ...]) -> Row:
    return {
        "key": key,
        "value": value,
        "topic": "orders",
        "partition": 3,
        "offset": offset,
        "timestamp": timestamp * 1000,
        "timestampType": kind,
        "headers": [{"key": each.key, "value": each.value} for each in pairs] or None,
        "value_size": None if value is None else len(value),
    }


@st.composite
def logs(draw: st.DrawFn) -> MadeLog:
    made = MadeLog()
    made.log.version = draw(st.sampled_from([4, 11, 12, 18]))
    for each in draw(st.lists(batches | endings, max_size=12)):
        if len(each) == 2:
            made.end(*each)
        else:
            made.add(*each)
    for producer in (1, 2):
        made.end(producer, draw(st.booleans()))
    return made
