"""What the result topics say, record by record: the last value of each key, and every dead letter.

`ResultState` is pure, and takes nothing on trust: a value that can not be read, a key that names another window than
its value, a dead letter that came twice are faults, and a fault is a difference in the end. `ResultReader` feeds it
with what a read_committed consumer sees, so what a transaction has not committed counts as not there.
"""

import json
import time
from collections import Counter, deque
from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.record import EARLIEST
from tidelog_pipelines.traffic.answers import Answers, epoch_ms, sales, start_ms, top

SALES_5M: Final = "sales_5m"
SALES_PER_MINUTE: Final = "sales_per_minute"
TOP_VIEWED_PRODUCTS: Final = "top_viewed_products"
DEAD_LETTERS: Final = "dead_letters"
RESULT_TOPICS: Final = (SALES_5M, SALES_PER_MINUTE, TOP_VIEWED_PRODUCTS, DEAD_LETTERS)

FAULTS_MAX: Final = 100
LATENCY_OVER_MS: Final = 30_000  # a start has something to catch up with, which is not how it goes on
_POLL_RECORDS: Final = 5_000


class ResultState:
    def __init__(self) -> None:
        self.rows: dict[str, dict[int, dict[str, Any]]] = {topic: {} for topic in RESULT_TOPICS}  # by window
        self.dead_letters: Counter[str] = Counter()
        self.faults: list[str] = []
        self.updates = 0
        self._latencies: deque[tuple[int, int]] = deque()  # when it was read, and how long after its last event
        self._first_read_ms: int | None = None
        self._letters_seen: set[tuple[str, int, int]] = set()

    def add(self, topic: str, key: bytes | None, value: bytes | None, read_ms: int) -> None:
        """Add a result or a dead letter. `read_ms`: when it could be read."""
        try:
            if topic == DEAD_LETTERS:
                self._add_dead_letter(json.loads(value or b""))
            else:
                self._add_row(topic, key, value, read_ms)
        except (ValueError, KeyError, TypeError) as error:
            self._fault(f"{topic}: a record that makes no sense, {error!r}: key {key!r}, value {value!r}")

    def _add_row(self, topic: str, key: bytes | None, value: bytes | None, read_ms: int) -> None:
        window = start_ms(json.loads(key or b""))
        if value is None:
            self.rows[topic].pop(window, None)
            return
        row = json.loads(value)
        if start_ms(row) != window:
            self._fault(f"{topic}: the value of key {key!r} is of another window, {row['window_start']}")
        _ = top(row) if topic == TOP_VIEWED_PRODUCTS else sales(row)  # that it can be read is said here, not at the end
        self.rows[topic][window] = row
        self.updates += 1
        self._first_read_ms = read_ms if self._first_read_ms is None else self._first_read_ms
        self._latencies.append((read_ms, read_ms - epoch_ms(row["updated_to"])))
        while read_ms - self._latencies[0][0] > LATENCY_OVER_MS:
            self._latencies.popleft()

    @property
    def latencies_ms(self) -> list[int]:
        """The latencies of the latest results, in the order in which they were read."""
        return [latency_ms for _read_ms, latency_ms in self._latencies]

    @property
    def steady_latencies_ms(self) -> list[int]:
        """The `latencies_ms` of events that were sent when results were coming already: those before have waited for
        the job to start, which says nothing of how quick it is."""
        since_ms = self._first_read_ms or 0
        return [latency_ms for read_ms, latency_ms in self._latencies if read_ms - latency_ms >= since_ms]

    def _add_dead_letter(self, letter: dict[str, Any]) -> None:
        record = (str(letter["topic"]), int(letter["partition"]), int(letter["offset"]))
        if record in self._letters_seen:
            self._fault(f"{DEAD_LETTERS}: the one of {record[0]}-{record[1]} offset {record[2]} came twice")
        self._letters_seen.add(record)
        self.dead_letters[letter["reason"]] += 1

    def _fault(self, text: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(text)

    def answers(self, records: dict[str, int]) -> Answers:
        """Return the results as one value. `records`: how many there are of each topic of events."""
        return Answers(
            {window: sales(row) for window, row in self.rows[SALES_5M].items()},
            {window: sales(row) for window, row in self.rows[SALES_PER_MINUTE].items()},
            {window: top(row) for window, row in self.rows[TOP_VIEWED_PRODUCTS].items()},
            dict(self.dead_letters),
            records,
        )


class ResultReader:
    """A consumer of the result topics. Topics that do not exist yet are looked for again at every `poll`: the job makes
    them."""

    def __init__(self, client: Client, prefix: str = "") -> None:
        self.state = ResultState()
        self._client = client
        self._topics = {prefix + topic: topic for topic in RESULT_TOPICS}
        self._consumer = Consumer(client, isolation="read_committed", max_wait_ms=100)

    def poll(self, timeout_ms: int) -> None:
        """Read whatever can be read, or comes within the time."""
        self._look_for_topics()
        if not self._consumer.assignment:
            self._client.pause(timeout_ms)
            return
        records = self._consumer.poll(timeout_ms, _POLL_RECORDS)
        while records:
            read_ms = int(time.time() * 1000)
            for record in records:
                self.state.add(self._topics[record.topic], record.key, record.value, read_ms)
            records = self._consumer.poll(0, _POLL_RECORDS)

    def read_to_end(self) -> None:
        """Read everything that is committed now."""
        self._look_for_topics()
        for record in self._consumer.read_to_end():
            self.state.add(self._topics[record.topic], record.key, record.value, int(time.time() * 1000))

    def _look_for_topics(self) -> None:
        assigned = {topic_partition.topic for topic_partition in self._consumer.assignment}
        missing = [topic for topic in self._topics if topic not in assigned]
        if missing:
            positions = dict.fromkeys(
                chain.from_iterable(map(self._consumer.partitions, self._existing(missing))), EARLIEST
            )
            for topic_partition in self._consumer.assignment:
                positions[topic_partition] = self._consumer.position(topic_partition)
            self._consumer.assign(positions)

    def _existing(self, wanted: Iterable[str]) -> list[str]:
        there = {topic.name for topic in Admin(self._client).list_topics()}
        return [topic for topic in wanted if topic in there]
