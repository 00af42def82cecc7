"""A stand-in for the job of the demo, `tidelog_pipelines.ecommerce`, that needs no Spark: plain Python that reads the
topics again and again and reports what it finds. With `WRONG_BY` in the environment it adds that many cents to each
sale, and with `FAILS` it does not even start."""

import argparse
import json
import os
import signal
import sys
import threading
from typing import Any

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog_pipelines.traffic.generator import Event
from tidelog_pipelines.traffic.results import RESULT_TOPICS
from tidelog_pipelines.traffic.rules import event_or_reason
from tidelog_pipelines.traffic.shoppers import TOPICS
from tidelog_pipelines.traffic.truth import Truth

PAUSE_S = 0.2


class StandIn:
    def __init__(self, client: Client, wrong_by: int) -> None:
        self._client = client
        self._wrong_by = wrong_by
        self._records: list[ConsumerRecord] = []
        self._told = 0  # records whose dead letters are written

    def count(self, consumer: Consumer) -> None:
        self._records += consumer.read_to_end()
        ordered = sorted(self._records, key=lambda record: record.timestamp)
        truth = Truth()
        for record in ordered:
            truth.add(Event(record.topic, record.key or b"", record.value or b"", record.timestamp))
        found = truth.answers().to_json()
        with Producer(self._client) as producer:
            for topic in RESULT_TOPICS[:3]:
                for row in found[topic]:
                    self._say(producer, topic, row, ordered[-1].timestamp)
            for record in self._records[self._told :]:
                reason = event_or_reason(record.topic, record.value or b"", record.timestamp)
                if isinstance(reason, str):
                    letter = {"reason": reason, "topic": record.topic, "partition": record.partition}
                    producer.send("dead_letters", json.dumps(letter | {"offset": record.offset}).encode())
        self._told = len(self._records)

    def _say(self, producer: Producer, topic: str, row: dict[str, Any], updated_to: int) -> None:
        key = json.dumps({"window_start": row["window_start"]}).encode()
        if "amount_cents" in row:
            row["amount_cents"] += self._wrong_by
        producer.send(topic, json.dumps(row | {"updated_to": updated_to}).encode(), key=key)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--bootstrap-server", "--checkpoint", "--archive"):
        parser.add_argument(name, required=True)
    parser.add_argument("--producer-times", action="store_true")
    if "FAILS" in os.environ:
        sys.exit("the job has no Java, say")
    is_ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_ended.set())
    with Client(parser.parse_args().bootstrap_server) as client, Consumer(client) as consumer:
        Admin(client).create_topics([NewTopic(topic, 1) for topic in RESULT_TOPICS])
        consumer.assign(
            {topic_partition: EARLIEST for topic in TOPICS for topic_partition in consumer.partitions(topic)}
        )
        job = StandIn(client, int(os.environ.get("WRONG_BY", "0")))
        while not is_ended.wait(PAUSE_S):
            job.count(consumer)


if __name__ == "__main__":
    main()
