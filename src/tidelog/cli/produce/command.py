"""`tidelog produce`: records from standard input or files into a topic.

Everything is acknowledged when it ends with 0. At the first record that is refused it stops: what a script pipes in is
either written whole, in order, or the exit code says that it is not.
"""

import argparse
import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

from tidelog.cli.cluster.connecting import add_client_command, connected, explained
from tidelog.cli.exit_codes import FAILED
from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.cli.output.meter import Meter
from tidelog.cli.produce.line_input import STANDARD_INPUT, lines
from tidelog.cli.produce.record_input import InputRecord, header, parsed, parser_of, separator
from tidelog.cli.produce.written_offsets import WrittenOffsets
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.producer import LAST_FLUSH_MS, Producer
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
    parser.add_argument("topic", nargs="?", metavar="TOPIC")
    parser.add_argument("files", nargs="*", metavar="FILE", default=[], help="read these; -, or none: standard input")
    parser.add_argument("--topic", dest="named_topic", metavar="TOPIC", help="the same, as Kafka's tools call it")
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
    _resolve_topic(options)
    meter, written = Meter("produced", is_shown=sys.stderr.isatty()), WrittenOffsets()
    try:
        with connected(options) as client:
            _produce(client, options, meter, written)
    except KeyboardInterrupt:  # somebody who types ends by it: say what was written, and where
        meter.finish(written.lines())
        raise
    meter.finish(written.lines())
    if options.json:
        facts = {"topic": options.topic, "records": meter.records, "bytes": meter.size_bytes}
        print(json.dumps({**facts, "seconds": round(meter.seconds, 3), "partitions": written.rows()}))
    return 0


def _resolve_topic(options: argparse.Namespace) -> None:
    """Find out the topic. With --topic, the first word is not the topic but the first file."""
    if options.named_topic is not None:
        options.files = [*([] if options.topic is None else [options.topic]), *options.files]
        options.topic = options.named_topic
    if options.topic is None:
        raise WrongUsage("which topic? `tidelog produce TOPIC`")


def _produce(client: Client, options: argparse.Namespace, meter: Meter, written: WrittenOffsets) -> None:
    codec = CODECS[options.compression]
    with Producer(client, acks=_acks(options), compression=codec, on_written=written.add) as producer:
        sender = RecordSender(producer, options, meter)
        try:
            _send(producer, sender, options)
            producer.flush()
        except (WrongUsage, ClientError) as error:
            # The records before the mistake are in the log: whoever runs it again has to know how many to leave out.
            _flush(producer)
            if isinstance(error, ClientError):
                explained(client, error)
            raise CommandFailed(f"{error}\n{_written(written, error, options)}", _exit_code(error)) from error


def _send(producer: Producer, sender: "RecordSender", options: argparse.Namespace) -> None:
    parse = parser_of(options)
    for name in options.files or [STANDARD_INPUT]:
        number = 0
        for line in lines(name):
            if line is None:
                producer.poll(0)
            else:
                number += 1
                sender.send(parsed(parse, line, name, number))
            sender.raise_failure()


def _flush(producer: Producer) -> None:
    with contextlib.suppress(ClientError):  # the error that came first is the one to report
        producer.flush(LAST_FLUSH_MS)


def _written(written: WrittenOffsets, error: WrongUsage | ClientError, options: argparse.Namespace) -> str:
    """Return how many records were written, and where. When a line cannot be read, all of them stood before it; when a
    record was refused, some may stand behind it."""
    if not written.records:
        return "no record was written"
    is_one = written.records == 1
    count = f"{written.records:,} record{'' if is_one else 's'}{' before it' if isinstance(error, WrongUsage) else ''}"
    how = "sent, and acknowledged by nobody" if options.acks == "0" else "written"
    return f"{count} {'was' if is_one else 'were'} {how}: {', '.join(written.lines())}"


def _exit_code(error: WrongUsage | ClientError) -> int:
    return error.code if isinstance(error, WrongUsage) else FAILED


def _acks(options: argparse.Namespace) -> Any:
    return ACKS[options.acks]


class RecordSender:
    """Records on their way, and the first thing that went wrong with one."""

    def __init__(self, producer: Producer, options: argparse.Namespace, meter: Meter) -> None:
        self._producer = producer
        self._options = options
        self._meter = meter
        self._failure: ClientError | None = None

    def send(self, record: InputRecord) -> None:
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
