"""`tidelog produce`: records from standard input or files into a topic.

Everything is acknowledged when it ends with 0. At the first record that is refused it stops: what a script pipes in is
either written whole, in order, or the exit code says that it is not.
"""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from tidelog.cli.connecting import add_client_command, connected
from tidelog.cli.line_input import STANDARD_INPUT, lines
from tidelog.cli.meter import Meter
from tidelog.cli.record_input import Given, header, parsed, parser_of, separator
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer import Producer
from tidelog.records.compression import CompressionType

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

ACKS = {"all": -1, "1": 1, "0": 0}
ACKS_HELP = "who has a record when it counts as written: all in-sync replicas, the leader (1), nobody (0) (%(default)s)"
CODECS = {each.name.lower(): each for each in CompressionType}
DESCRIPTION = """\
Write records to a topic, one a line, from standard input or from files. It ends when all of them are acknowledged.
"""
EXAMPLES = r"""
  echo hello | tidelog produce greetings
  tidelog produce orders orders.txt --key-separator '\t' --compression zstd
  tidelog produce orders --header source=import --partition 0 < orders.txt
  tidelog consume orders --from beginning --exit --json | tidelog produce copy --format json
"""


def add_parser(commands: "Commands") -> None:
    parser = add_client_command(
        commands, "produce", "write records from standard input or a file", description=DESCRIPTION, examples=EXAMPLES
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("files", nargs="*", metavar="FILE", default=[], help="read these; -, or none: standard input")
    parser.add_argument(
        "-f", "--format", choices=("text", "json", "hex"), default="text",
        help="what a line is: a value as it is (text), an object with value, key, headers, partition, timestamp "
        "(json), a value in hexadecimal (hex)",
    )  # fmt: skip
    parser.add_argument("-K", "--key-separator", metavar="TEXT", type=separator, help="the key stands before this")
    parser.add_argument("-k", "--key", metavar="TEXT", type=str.encode, help="the key of records without one")
    parser.add_argument(
        "-H",
        "--header",
        metavar="NAME=VALUE",
        type=header,
        action="append",
        default=[],
        help="a header of every record",
    )
    parser.add_argument("-p", "--partition", metavar="N", type=int, help="write to this one, whatever the key")
    parser.add_argument("--tombstones", action="store_true", help="an empty line means a record without a value")
    parser.add_argument("--acks", choices=list(ACKS), default="all", help=ACKS_HELP)
    parser.add_argument("-z", "--compression", choices=list(CODECS), default="none", help="of batches (%(default)s)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    meter = Meter("produced", is_shown=sys.stderr.isatty())
    with connected(options) as client:
        _produce(client, options, meter)
    meter.finish()
    if options.json:
        facts = {"topic": options.topic, "records": meter.records, "bytes": meter.size_bytes}
        print(json.dumps({**facts, "seconds": round(meter.seconds, 3)}))
    return 0


def _produce(client: Client, options: argparse.Namespace, meter: Meter) -> None:
    parse = parser_of(options)
    with Producer(client, acks=_acks(options), compression=CODECS[options.compression]) as producer:
        sending = Sending(producer, options, meter)
        for name in options.files or [STANDARD_INPUT]:
            number = 0
            for line in lines(name):
                if line is None:
                    producer.poll(0)
                else:
                    number += 1
                    sending.send(parsed(parse, line, name, number))
                sending.raise_failure()
        producer.flush()


def _acks(options: argparse.Namespace) -> Any:
    return ACKS[options.acks]


class Sending:
    """Records on their way, and the first thing that went wrong with one."""

    def __init__(self, producer: Producer, options: argparse.Namespace, meter: Meter) -> None:
        self._producer = producer
        self._options = options
        self._meter = meter
        self._failure: ClientError | None = None

    def send(self, record: Given) -> None:
        options = self._options
        value = None if options.tombstones and record.value == b"" else record.value
        key = options.key if record.key is None else record.key
        self._producer.send(
            options.topic,
            value,
            key=key,
            partition=record.partition if options.partition is None else options.partition,
            timestamp=record.timestamp,
            headers=(*record.headers, *options.header),
            on_delivery=self._delivered,
        )
        self._meter.add(len(value or b"") + len(key or b""))

    def _delivered(self, outcome: int | ClientError) -> None:
        if isinstance(outcome, ClientError) and self._failure is None:
            self._failure = outcome

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
