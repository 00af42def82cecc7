"""Purchases at chosen times, for tests of the pipeline: sent, counted by queries that run to their end, read back."""

import json
import time
from collections.abc import Iterable
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer
from tidelog_pipelines.ecommerce import job
from tidelog_pipelines.ecommerce.settings import Settings
from tidelog_pipelines.traffic.answers import Answers
from tidelog_pipelines.traffic.results import ResultReader


def purchase(at_ms: int) -> bytes:
    event: dict[str, Any] = {"event_id": f"e{at_ms}", "user_id": "u1", "session_id": "s1", "at": at_ms}
    event |= {"user_agent": "Firefox", "dwell_ms": 5_000, "order_id": f"o{at_ms}", "items": [], "amount_cents": 1}
    return json.dumps(event).encode()


def send(settings: Settings, times_ms: Iterable[int], partition: int = 0) -> int:
    """A purchase of a cent at each of the times."""
    topic = f"{settings.events_prefix}purchase_completed"
    times = list(times_ms)
    with Client(settings.bootstrap) as client, Producer(client) as producer:
        for at_ms in times:
            producer.send(topic, purchase(at_ms), partition=partition, timestamp=at_ms)
    return len(times)


def run(*queries: StreamingQuery) -> int:
    """To their end, looking now and then."""

    def wait(seconds: float) -> bool:
        time.sleep(seconds)
        return False

    return job.supervise(queries, wait)


def found(settings: Settings) -> Answers:
    with Client(settings.bootstrap) as client:
        reader = ResultReader(client, settings.results_prefix)
        reader.read_to_end()
    assert reader.state.faults == []
    return reader.state.answers({})


def purchases(answers: Answers) -> int:
    return sum(each.purchases for each in answers.sales_per_minute.values())
