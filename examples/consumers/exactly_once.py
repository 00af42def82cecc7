"""Exactly once: results and offsets are committed together, in one transaction.

    python examples/consumers/exactly_once.py localhost:9092 payments receipts

It works where the results are records, too. A crash at any point leaves either both or neither: what the transaction
had written stays in the log, and consumers with isolation.level=read_committed never see it.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition


def main() -> None:
    options = parse()
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "exactly-once",
            "group.instance.id": "only",  # after a crash the next start takes the place of this one at once
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # offsets are the transaction's business
            "isolation.level": "read_committed",  # whoever writes our input may use transactions, too
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": options.bootstrap,
            # The same name at every start, and another for each process that runs at the same time.
            "transactional.id": "exactly-once-only",
            # Without this librdkafka 2.16 may wait for ever after the broker was restarted (librdkafka#5511).
            "metadata.recovery.strategy": "none",
        }
    )
    # Fences whoever had the name before us, and aborts the transaction that a crash left open.
    insist(lambda: producer.init_transactions(30))
    group = None

    def assigned(consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """Note who we are at the time when the partitions became ours, because it goes with the offsets: asked for
        later, it may be that of a generation in which they are another's, and the broker could not refuse them."""
        nonlocal group
        group = consumer.consumer_group_metadata()

    consumer.subscribe([options.input], on_assign=assigned)
    while True:
        records = [each for each in consumer.consume(10, timeout=1) if each.error() is None]
        if records:
            copy(options, consumer, producer, records, group)


def copy(
    options: argparse.Namespace, consumer: Consumer, producer: Producer, records: list[Message], group: Any
) -> None:
    try:
        producer.begin_transaction()
        for record in records:
            time.sleep(options.pace)
            producer.produce(options.output, transform(record), record.key())
            producer.flush()  # only to show how far it is: commit_transaction() flushes by itself
            print(f"written {record.offset()}", flush=True)
        ends = {(each.topic(), each.partition()): (each.offset() or 0) + 1 for each in records}
        offsets = [TopicPartition(str(topic), partition or 0, end) for (topic, partition), end in ends.items()]
        insist(lambda: producer.send_offsets_to_transaction(offsets, group, 30))
        insist(lambda: producer.commit_transaction(30))
        print(f"committed {records[-1].offset()}", flush=True)
    except KafkaException as problem:
        # A rebalance, for one: neither results nor offsets count, and the records are read again by whoever owns them.
        print(f"aborted: {problem}", flush=True)
        insist(lambda: producer.abort_transaction(30))
        rewind(consumer, records)


def transform(record: Message) -> bytes:
    return b"receipt for " + (record.value() or b"")


def rewind(consumer: Consumer, records: list[Message]) -> None:
    owned = {(each.topic, each.partition) for each in consumer.assignment()}
    for record in reversed(records):  # the first of each partition comes last, and is where it stays
        if (record.topic(), record.partition()) in owned:
            consumer.seek(TopicPartition(str(record.topic()), record.partition() or 0, record.offset() or 0))


def insist(call: Callable[[], object]) -> None:
    """Call again what only waited too long. After a fatal error only a new start helps."""
    while True:
        try:
            call()
            return
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.fatal():
                stop(error)
            if not error.retriable():
                raise


def stop(error: KafkaError) -> NoReturn:
    """End the program. Most likely another process has our transactional id now: nothing of ours may happen any
    more."""
    print(f"fenced: {error}", flush=True)
    os._exit(1)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Results and offsets, both or neither.")
    parser.add_argument("bootstrap")
    parser.add_argument("input", help="the topic that is read")
    parser.add_argument("output", help="the topic that the results are written to")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that the work on a record takes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
