"""Transactions one after the other, by librdkafka (confluent-kafka, protocol v1) and by the Java client (v2)."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confluent_kafka import Producer
from tests.interop.apache.jars import fetch_jars, java_command

from benchmarks.broker.systems import System

SOURCE = Path(__file__).with_name("Transactions.java")
RECORDS, PARTITIONS = 10, 2
VALUE = b"x" * 100
TIMEOUT_SECONDS = 60.0
WARM_UP_SECONDS = 3.0


@dataclass(slots=True)
class TransactionFigures:
    transactions: int
    seconds: float


class Transactions(Protocol):
    def run(self, seconds: float) -> TransactionFigures: ...


class Confluent:
    def __init__(self, system: System, topic: str) -> None:
        settings = {"bootstrap.servers": system.bootstrap, "transactional.id": f"{topic}-librdkafka", "linger.ms": 0}
        self._producer = Producer({**settings, "log_level": 0})  # the broker's stop is no news
        self._topic = topic
        self._producer.init_transactions(TIMEOUT_SECONDS)

    def run(self, seconds: float) -> TransactionFigures:
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            self._commit_one()
            count += 1
        return TransactionFigures(count, time.perf_counter() - began)

    def _commit_one(self) -> None:
        producer = self._producer
        producer.begin_transaction()
        for index in range(RECORDS):
            producer.produce(self._topic, VALUE, partition=index % PARTITIONS)
        producer.commit_transaction(TIMEOUT_SECONDS)


class Java:
    """The Java client in a process of its own, which has warmed up."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, seconds: float) -> TransactionFigures:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        count, took = self.line().split()
        return TransactionFigures(int(count), float(took))

    def line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the Java client gave up")
        return line.strip()


@contextmanager
def java_client(system: System, topic: str, scratch: Path) -> Iterator[Java]:
    jars = fetch_jars()
    classes = scratch / "classes"
    if not classes.exists():
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", str(classes), str(SOURCE)], check=True)
    arguments = [system.bootstrap, topic, f"{topic}-java", str(RECORDS), str(PARTITIONS), str(WARM_UP_SECONDS)]
    command = [f"{jars}/*:{classes}" if each == f"{jars}/*" else each for each in java_command(jars, "Transactions")]
    process = subprocess.Popen([*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        client = Java(process)
        while client.line() != "ready":
            pass
        yield client
    finally:
        process.kill()
        process.wait()
