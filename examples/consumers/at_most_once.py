"""At most once: the offset is committed first, and the records are processed then.

    python examples/consumers/at_most_once.py localhost:9092 payments ledger.txt

A crash between the two loses what was committed and not processed. Nothing is ever processed twice. For measurements,
or for messages that are worse late than never.
"""

import argparse
import time

from confluent_kafka import Consumer, KafkaException


def main() -> None:
    options = parse()
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "at-most-once",
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
            try:
                outcome = consumer.commit(asynchronous=False)  # behind the last record that consume() returned
            except KafkaException as refused:
                print(f"not committed, so not processed: {refused}", flush=True)
                continue
            if any(each.error for each in outcome or ()):
                continue
            print(f"committed {records[-1].offset()}", flush=True)
            # From here to the end of the loop a crash loses records.
            for record in records:
                time.sleep(options.pace)
                ledger.write(f"{(record.value() or b'').decode()}\n")
                ledger.flush()
                print(f"processed {record.offset()}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Process first what nobody will see again.")
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("ledger", help="the file that the values are written to, one a line")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that the work on a record takes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
