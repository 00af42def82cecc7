"""Too slow: what happens to a consumer that works longer on a batch than max.poll.interval.ms allows.

    python examples/consumers/too_slow.py localhost:9092 payments

Heartbeats go on in the background, so the session does not time out; but a member that does not poll makes no progress,
and after max.poll.interval.ms it is out of the group. Its partitions go to the others, and begin where it committed
last. When it comes back with its work done, its commit is refused: the offsets are not its own any more, and what the
new owner has committed must not be moved.

Run examples/consumers/at_least_once.py with `--group too-slow` beside it to see the other side.

What to do about it: smaller batches (here: `consume(1)`), a longer interval, or work in another thread with the
partitions paused meanwhile.
"""

import argparse
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition


def main() -> None:
    options = parse()
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "too-slow",
            "max.poll.interval.ms": options.interval_ms,
            "session.timeout.ms": min(options.interval_ms, 6_000),
            "heartbeat.interval.ms": min(options.interval_ms, 6_000) // 3,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([options.topic], on_assign=assigned, on_revoke=revoked, on_lost=lost)
    has_been_slow = False
    while True:
        records = consumer.consume(10, timeout=1)
        for problem in (each.error() for each in records):
            if problem is not None and problem.code() == KafkaError._MAX_POLL_EXCEEDED:
                print("thrown out: too long between two polls", flush=True)
        records = [each for each in records if each.error() is None]
        if not records:
            continue
        if not has_been_slow:
            print(f"working on {len(records)} records for {options.work} s", flush=True)
            time.sleep(options.work)
            has_been_slow = True
        commit(consumer, TopicPartition(options.topic, records[-1].partition() or 0, (records[-1].offset() or 0) + 1))


def commit(consumer: Consumer, end: TopicPartition) -> None:
    try:
        outcome = consumer.commit(offsets=[end], asynchronous=False)
        refusal = next((each.error for each in outcome or () if each.error), None)
    except KafkaException as refused:
        refusal = refused.args[0]
    print(f"committed {end.offset}" if refusal is None else f"commit refused: {refusal.name()}", flush=True)


def assigned(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
    print(f"assigned {[each.partition for each in partitions]}", flush=True)


def revoked(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
    print(f"revoked {[each.partition for each in partitions]}", flush=True)


def lost(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """Drop what was read of partitions that were lost. They were not revoked: nobody waits for us, they have another
    owner already."""
    print(f"lost {[each.partition for each in partitions]}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Exceed max.poll.interval.ms, once.")
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--work", type=float, default=15.0, help="seconds that the first batch takes (%(default)s)")
    parser.add_argument("--interval-ms", type=int, default=8_000, help="max.poll.interval.ms (%(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
