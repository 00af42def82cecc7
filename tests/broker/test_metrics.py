"""A real node, scraped over HTTP while a real client produces and consumes."""

import http.client
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.broker.test_cli_nodes import TIDELOG, node
from tests.support.prometheus import Exposition, parse

RECORDS = 2_000
VALUE = b"v" * 100
ANSWER_S_MAX = 60
TOPICS = "kafka_server_brokertopicmetrics_"


class Scraper:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=ANSWER_S_MAX)

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        self._connection.request(method, path)
        response = self._connection.getresponse()
        return response.status, response.read().decode()

    def close(self) -> None:
        self._connection.close()

    def scrape(self) -> Exposition:
        status, body = self.get("/metrics")
        assert status == 200
        return parse(body)


@pytest.fixture(scope="module")
def ready() -> Iterator[dict[str, Any]]:
    with node("dev", "--ephemeral", "--port", "0", "--metrics-port", "0") as (ready, _process):
        yield ready


@pytest.fixture
def scraper(ready: dict[str, Any]) -> Iterator[Scraper]:
    scraper = Scraper(ready["metrics"])
    yield scraper
    scraper.close()


def test_the_numbers_grow_with_the_traffic_and_end_up_right(ready: dict[str, Any], scraper: Scraper) -> None:
    bootstrap = ready["listeners"][0]["bound"]
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    seen = []
    for number in range(RECORDS):
        producer.produce("scraped", VALUE, str(number).encode(), partition=0)
        if number % 200 == 0:
            producer.flush(ANSWER_S_MAX)
            seen.append(scraper.scrape().value(f"{TOPICS}messagesin_total", topic="scraped"))
    assert producer.flush(ANSWER_S_MAX) == 0
    assert seen == [1 + 200 * index for index in range(len(seen))]
    consume_all(bootstrap)
    found = scraper.scrape()
    assert found.value(f"{TOPICS}messagesin_total", topic="scraped") == RECORDS
    size = found.value("kafka_log_log_size", topic="scraped", partition="0")
    assert size == found.value(f"{TOPICS}bytesin_total", topic="scraped") > RECORDS * len(VALUE)
    assert found.value(f"{TOPICS}bytesout_total", topic="scraped") >= size
    assert found.value("kafka_log_log_logendoffset", topic="scraped", partition="0") == RECORDS
    requests = found.value("kafka_network_requestmetrics_requests_total", request="Produce")
    assert requests == found.value("kafka_network_requestmetrics_totaltime_seconds_count", request="Produce") > 0
    assert found.value("kafka_network_requestmetrics_totaltime_seconds_sum", request="Produce") > 0


def consume_all(bootstrap: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("scraped", 0, 0)])
    left, until = RECORDS, time.monotonic() + ANSWER_S_MAX
    while left and time.monotonic() < until:
        left -= len(consumer.consume(left, timeout=0.5))
    consumer.close()
    assert left == 0


def test_the_process_is_told(ready: dict[str, Any], scraper: Scraper) -> None:
    found = scraper.scrape()
    assert found.value("process_cpu_seconds_total") > 0
    assert 10e6 < found.value("process_resident_memory_bytes") < 1e9
    assert abs(found.value("process_start_time_seconds") - time.time()) < 3_600
    assert 5 < found.value("process_open_fds") < found.value("process_max_fds")
    assert found.value("tidelog_loop_turn_worst_seconds") > 0
    assert found.value("tidelog_bugs_total") == 0


def test_health_methods_and_paths(scraper: Scraper) -> None:
    assert scraper.get("/healthz") == (200, "ok\n")
    assert scraper.get("/readyz") == (200, "ready\n")
    assert scraper.get("/metrics", "HEAD")[0] == 200
    assert scraper.get("/") == (404, "there are /metrics, /healthz, /readyz\n")
    assert scraper.get("/metrics", "DELETE")[0] == 405
    assert scraper.get("/healthz")[0] == 200


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00\x00\x00\x14\x00\x12\x00\x04"]
)
def test_garbage_is_answered_and_closed_and_nobody_else_notices(
    ready: dict[str, Any], scraper: Scraper, garbage: bytes
) -> None:
    host, _, port = ready["metrics"].rpartition(":")
    assert scraper.get("/healthz")[0] == 200
    with socket.create_connection((host, int(port)), ANSWER_S_MAX) as stranger:
        stranger.sendall(garbage)
        heard = b""
        while data := stranger.recv(4_096):
            heard += data
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert scraper.get("/healthz")[0] == 200


def test_a_port_for_metrics_that_is_taken_is_named(ready: dict[str, Any]) -> None:
    port = ready["metrics"].rpartition(":")[2]
    command = [TIDELOG, "dev", "--ephemeral", "--port", "0", "--metrics-port", port]
    second = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S_MAX, check=False)
    assert second.returncode == 1
    assert ready["metrics"] in second.stderr
