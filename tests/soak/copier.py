"""The consume-transform-produce program with confluent-kafka: `python -m tests.soak.copier name=value ...`.

Each batch of records is copied in one transaction, together with the offsets behind it. Whatever goes wrong, the
transaction is aborted and the batch read again; where the producer can not go on, the program ends and whoever watches
over it starts it again. It prints a line for each commit.

Three traps that exactly-once depends on:
- The group has offsets from the start, and the consumer may not choose any by itself (auto.offset.reset). With
  `earliest`, librdkafka 2.16 has been seen to go back to the beginning half a second after a rebalance: the answer to
  a ListOffsets that the rebalance made obsolete starts a timer, which the answer to the next one does not stop.
- A record that was read before its partition was taken away must not be copied afterwards: another owns it.
- The group metadata that goes with the offsets must be of the time when the records were read. Asked for later, it may
  be that of a member that has been thrown out and is nobody, whom the broker can not tell from an old client without
  membership. Under the classic protocol it changes only when partitions are assigned; under the consumer protocol the
  epoch may rise at any time, but a member that was thrown out keeps its id, and is refused.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from tests.soak.plan import LOITER_MS, PARTITIONS, TRANSACTION_RECORDS

CALL_S_MAX = 5
ENDED = 3  # the exit code that asks to be restarted


class Copier:
    def __init__(self, options: dict[str, str]) -> None:
        self._input, self._output = options["input"], options["output"]
        self._chance = random.Random(options["seed"])
        self._is_classic = options["protocol"] == "classic"
        self._batch: list[Message] = []
        self._producer = Producer(producer_settings(options))
        self._consumer = Consumer(consumer_settings(options))
        self._metadata: Any = None

    def run(self) -> None:
        self._insist(lambda: self._producer.init_transactions(CALL_S_MAX))
        say("initialised")
        self._consumer.subscribe(
            [self._input], on_assign=self._assigned, on_revoke=self._taken_away, on_lost=self._taken_away
        )
        while True:
            self._gather()
            if self._batch:
                self._copy()

    # Reading

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._metadata = consumer.consumer_group_metadata()
        say(f"assigned {sorted(each.partition for each in partitions)}")

    def _taken_away(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {each.partition for each in partitions}
        self._batch = [each for each in self._batch if each.partition() not in gone]
        say(f"taken away {sorted(gone)}")

    def _gather(self) -> None:
        """Read records into the batch; callbacks may take some away again while we poll."""
        self._batch = []
        if not self._is_classic:
            self._metadata = self._consumer.consumer_group_metadata()
        wait_s = 0.2
        while len(self._batch) < TRANSACTION_RECORDS:
            record = self._consumer.poll(wait_s)
            if record is None:
                return
            error = record.error()
            if error is None:
                self._batch.append(record)
                wait_s = 0.0
            elif error.fatal() or error.code() == KafkaError._FATAL:  # as an event it has only the code
                end(error)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise KafkaException(error)  # the group has offsets, but was reported to have none

    # Copying

    def _copy(self) -> None:
        try:
            self._producer.begin_transaction()
            for record in self._batch:
                key = int(record.key() or b"")
                self._producer.produce(self._output, record.value(), record.key(), key // PARTITIONS % PARTITIONS)
            self._loiter()
            self._insist(lambda: self._producer.send_offsets_to_transaction(self._ends(), self._metadata, CALL_S_MAX))
            self._loiter()
            if self._chance.random() < 0.1:
                self._give_up("for a change")
            else:
                self._insist(lambda: self._producer.commit_transaction(CALL_S_MAX))
                say(f"committed {len(self._batch)}")
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.fatal() or not error.txn_requires_abort():
                end(error)
            self._give_up(str(error))

    def _give_up(self, why: str) -> None:
        say(f"aborted {why}")
        self._insist(lambda: self._producer.abort_transaction(CALL_S_MAX))
        firsts: dict[int, int] = {}
        for record in self._batch:
            firsts.setdefault(record.partition() or 0, record.offset() or 0)
        owned = {each.partition for each in self._consumer.assignment()}
        for partition, offset in firsts.items():
            if partition in owned:
                self._consumer.seek(TopicPartition(self._input, partition, offset))

    def _ends(self) -> list[TopicPartition]:
        ends = {record.partition() or 0: (record.offset() or 0) + 1 for record in self._batch}
        return [TopicPartition(self._input, partition, offset) for partition, offset in ends.items()]

    def _loiter(self) -> None:
        time.sleep(self._chance.uniform(0, LOITER_MS / 1000))

    def _insist(self, call: Callable[[], object]) -> None:
        """Repeat the call while that may help: the broker is away for a while."""
        while True:
            try:
                call()
                return
            except KafkaException as problem:
                error: KafkaError = problem.args[0]
                if error.fatal():
                    end(error)
                if not error.retriable():
                    raise
                say(f"again after {error}")


# librdkafka 2.16 begins anew from its bootstrap servers when it has lost every broker, but keeps asking the handle that
# it gave up for the group's coordinator: what is sent there, a transaction's offsets above all, never gets an answer
# (confluentinc/librdkafka#5511).
RECOVERY: dict[str, Any] = {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 200}


def producer_settings(options: dict[str, str]) -> dict[str, Any]:
    return {
        "bootstrap.servers": options["bootstrap"],
        "transactional.id": options["id"],
        "transaction.timeout.ms": int(options["transaction_timeout_ms"]),
        "linger.ms": 0,
        **RECOVERY,
    }


def consumer_settings(options: dict[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": options["bootstrap"],
        "group.id": options["group"],
        "group.protocol": options["protocol"],
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "error",
        **RECOVERY,
    }
    if options["protocol"] == "classic":
        settings["session.timeout.ms"] = int(options["session_timeout_ms"])
        settings["heartbeat.interval.ms"] = int(options["heartbeat_ms"])
        settings["partition.assignment.strategy"] = options["assignor"]
    if "instance" in options:
        settings["group.instance.id"] = options["instance"]
    return settings


def say(line: str) -> None:
    print(f"{time.time():.3f} {line}", flush=True)


def end(error: KafkaError) -> NoReturn:
    """Exit at once: a transaction may be open, and the next start of the program clears it away."""
    say(f"ended by {error}")
    os._exit(ENDED)


if __name__ == "__main__":
    Copier(dict(each.split("=", 1) for each in sys.argv[1:])).run()
