"""`tidelog consume`: records of a topic to standard output or a file, from a place on, until the end or for ever."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from tidelog.cli.connecting import add_client_command, connected
from tidelog.cli.failing import WrongUsage
from tidelog.cli.meter import Meter
from tidelog.cli.parsers import count
from tidelog.cli.places import BEGINNING, END, PLACES, Place, place
from tidelog.cli.record_input import separator
from tidelog.cli.record_output import FIELDS, fields, writer_of
from tidelog.client.client import Client
from tidelog.client.consumer import Consumer
from tidelog.client.record import EARLIEST, LATEST, ConsumerRecord
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Read a topic to standard output, a record a line: from now on, until Ctrl-C, unless told otherwise.
"""
EXAMPLES = r"""
  tidelog consume greetings --from beginning --exit
  tidelog consume orders --from -10m --show timestamp,key
  tidelog consume orders --partition 2 --from 12345 --count 10 --json
  tidelog consume orders --group billing --from beginning     share it with others, and go on where the group was
"""
POLL_MS = 1_000


def add_parser(commands: "Commands") -> None:
    parser = add_client_command(
        commands, "consume", "read records to standard output", description=DESCRIPTION, examples=EXAMPLES
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("-p", "--partition", metavar="N", type=int, action="append", help="only this; may be repeated")
    parser.add_argument(
        "--from", dest="start", metavar="PLACE", type=place,
        help=f"{PLACES}. Unless told: the end, or with --exit the beginning",
    )  # fmt: skip
    parser.add_argument("-e", "--exit", action="store_true", help="stop at the end, as it is at the start")
    parser.add_argument("-n", "--count", metavar="N", type=count, help="stop after so many records")
    parser.add_argument(
        "-f", "--format", choices=("text", "json", "hex"), default="text",
        help="what a line is: the value as it is (text), an object with everything (json, as --json), the value in "
        "hexadecimal (hex)",
    )  # fmt: skip
    parser.add_argument(
        "--show", metavar="FIELDS", type=fields, default=[],
        help=f"put these before the value, with commas between: {', '.join(FIELDS)}",
    )  # fmt: skip
    parser.add_argument(
        "-S",
        "--separator",
        metavar="TEXT",
        type=separator,
        default=b"\t",
        help="stands between them; unless told, a tab",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of to standard output")
    parser.add_argument("--committed", action="store_true", help="only records of transactions that were committed")
    parser.add_argument(
        "-g", "--group", metavar="GROUP",
        help="as a member of this group: partitions are shared with its other members, and what was written out is "
        "committed; --from counts where the group has committed nothing",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with _output(options) as output:
        is_terminal = output.isatty()
        meter = Meter("consumed", is_shown=sys.stderr.isatty() and not is_terminal)
        kind = "json" if options.json else options.format
        line = writer_of(kind, options.show, options.separator, is_terminal=is_terminal)

        def write(record: ConsumerRecord) -> None:
            output.write(line(record))
            meter.add(len(record.value or b"") + len(record.key or b""))

        try:
            with connected(options) as client:
                _read(client, options, output, write)
        finally:
            output.flush()
            meter.finish()
    return 0


def _read(
    client: Client, options: argparse.Namespace, output: IO[bytes], write: Callable[[ConsumerRecord], None]
) -> None:
    if options.group is not None:
        if options.partition:
            raise WrongUsage("the coordinator decides over partitions: --group and --partition do not go together")
        from tidelog.cli.consume_group import GroupReader  # the messages of groups: only for those who need them

        client.topic(options.topic)  # a wrong name is said at once, where a group would wait for it to be made
        GroupReader(client, options, _isolation(options), output).run(write)
        return
    with Consumer(client, isolation=_isolation(options)) as consumer:
        for record in _limited(_records(consumer, options, output), options.count):
            write(record)


@contextlib.contextmanager
def _output(options: argparse.Namespace) -> Iterator[IO[bytes]]:
    if options.output is None:
        yield sys.stdout.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(Path(options.output).open("wb"))
        except OSError as error:
            raise WrongUsage(f"{options.output}: {error.strerror}") from error
        yield file


def _isolation(options: argparse.Namespace) -> Literal["read_committed", "read_uncommitted"]:
    return "read_committed" if options.committed else "read_uncommitted"


def _records(consumer: Consumer, options: argparse.Namespace, output: IO[bytes]) -> Iterator[ConsumerRecord]:
    assign(consumer, _partitions(consumer, options), options.start or (BEGINNING if options.exit else END))
    if options.exit:
        yield from consumer.read_to_end()
        return
    while True:
        yield from consumer.poll(POLL_MS)
        output.flush()  # whoever reads us sees a record when it comes


def _partitions(consumer: Consumer, options: argparse.Namespace) -> list[TopicPartition]:
    found = consumer.partitions(options.topic)
    for index in options.partition or ():
        if not 0 <= index < len(found):
            raise WrongUsage(f"{options.topic} has no partition {index}; it has {len(found)}, counted from 0")
    return [each for each in found if not options.partition or each.partition in options.partition]


def assign(consumer: Consumer, partitions: list[TopicPartition], start: Place) -> None:
    if start.offset is not None:
        consumer.assign(dict.fromkeys(partitions, start.offset))
    elif start in (BEGINNING, END):
        consumer.assign(dict.fromkeys(partitions, EARLIEST if start == BEGINNING else LATEST))
    else:
        consumer.assign_from_time(partitions, start.timestamp_ms)


def _limited(records: Iterator[ConsumerRecord], most: int | None) -> Iterator[ConsumerRecord]:
    """Not by islice, which would fetch once more than it needs."""
    for taken, record in enumerate(records, 1):
        yield record
        if taken == most:
            return
