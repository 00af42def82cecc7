"""At least once: the records are processed first, and the offset is committed then.

    python examples/consumers/at_least_once.py localhost:9092 payments ledger.txt

A crash between the two has them processed again. Nothing is ever lost. It is what most programs want, with processing
that does no harm the second time: an upsert by key, a payment with an id that the bank knows.
"""

import argparse
import time

from confluent_kafka import Consumer, KafkaException


def main() -> None:
    options = parse()
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": options.group,
            # A static member: after a crash the next start takes the place of this one at once. Without it the group
            # waits for the session to time out before anybody gets the partitions.
            "group.instance.id": "only",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # we say when
        }
    )
    consumer.subscribe([options.topic])
    with open(options.ledger, "a") as ledger:
        while True:
            records = [each for each in consumer.consume(10, timeout=1) if each.error() is None]
            if not records:
                continue
            for record in records:
                time.sleep(options.pace)
                ledger.write(f"{(record.value() or b'').decode()}\n")
                ledger.flush()
                print(f"processed {record.offset()}", flush=True)
            # From the first record to here a crash has records processed again.
            try:
                consumer.commit(asynchronous=False)  # behind the last record that consume() returned
                print(f"committed {records[-1].offset()}", flush=True)
            except KafkaException as refused:
                # The partition has another owner by now, who begins where our last commit was: that is all right here.
                print(f"not committed, others will process them again: {refused}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Commit only what is done.")
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("ledger", help="the file that the values are written to, one a line")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that the work on a record takes")
    parser.add_argument("--group", default="at-least-once")
    return parser.parse_args()


if __name__ == "__main__":
    main()
