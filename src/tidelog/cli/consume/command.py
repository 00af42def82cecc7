"""`tidelog consume`: records of topics to standard output or a file, from an offset on, until the end or for ever."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from tidelog.cli.arguments.offset_arguments import BEGINNING, END, START_FORMS, OffsetArgument, parse_start
from tidelog.cli.arguments.parsers import count
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.cluster.termination import ended_in_order
from tidelog.cli.consume.last_records import last_records
from tidelog.cli.consume.record_output import FIELDS, fields, writer_of
from tidelog.cli.consume.topics import ChosenTopics
from tidelog.cli.failing import CommandFailed, WrongUsage, warn
from tidelog.cli.output.meter import Meter
from tidelog.cli.produce.record_input import separator
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.record import EARLIEST, LATEST, ConsumerRecord
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Read topics to standard output, a record a line: from now on, until Ctrl-C, unless told otherwise.
"""
EXAMPLES = r"""
  tidelog consume greetings --from beginning --exit
  tidelog consume greetings --from -10                        the last ten records, and what comes next
  tidelog consume orders --from -10m --show timestamp,key
  tidelog consume orders --partition 2 --from 12345 --count 10 --json
  tidelog consume orders payments --show topic,key
  tidelog consume --include 'orders-.*' --from-beginning
  tidelog consume orders --group billing --from beginning     share it with others, and go on where the group was
"""
ASSIGNED_POLL_MS = 1_000


def add_parser(commands: "Commands") -> None:
    parser = add_client_command(
        commands, "consume", "read records to standard output", description=DESCRIPTION, examples=EXAMPLES
    )
    _add_what(parser)
    parser.add_argument("-e", "--exit", action="store_true", help="stop at the end, as it is at the start")
    parser.add_argument("-n", "--count", "--max-messages", metavar="N", type=count, help="stop after so many records")
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


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="*", metavar="TOPIC", default=[], help="one or several")
    parser.add_argument(
        "--topic", metavar="TOPIC", action="append", default=[], help="the same, as Kafka's tools call it"
    )
    parser.add_argument(
        "--include", metavar="REGEX",
        help="topics whose whole names match this too, also those that are made later; RE2, such as 'orders-.*'",
    )  # fmt: skip
    parser.add_argument("-p", "--partition", metavar="N", type=int, action="append", help="only this; may be repeated")
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--from", dest="start", metavar="OFFSET", type=parse_start,
        help=f"{START_FORMS}. Unless told: the end, or with --exit the beginning",
    )  # fmt: skip
    start.add_argument(
        "--from-beginning", dest="start", action="store_const", const=BEGINNING, help="the same as --from beginning"
    )


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
            with ended_in_order() as is_ending, connected(options) as client:
                _read(client, options, output, write, is_ending)
        finally:
            output.flush()
            meter.finish()
    return 0


def _read(
    client: Client,
    options: argparse.Namespace,
    output: IO[bytes],
    write: Callable[[ConsumerRecord], None],
    is_ending: Callable[[], bool],
) -> None:
    if options.group is not None and options.partition:
        raise WrongUsage("the coordinator decides over partitions: --group and --partition do not go together")
    topics = ChosenTopics(client, options)
    if options.group is not None:
        from tidelog.cli.consume.group import GroupReader  # imports the messages of groups, which few need

        GroupReader(client, options, _isolation(options), output, topics, is_ending).run(write)
        return
    with Consumer(client, isolation=_isolation(options)) as consumer:
        for record in _limited(_records(consumer, topics, options, output, is_ending), options.count):
            write(record)
            if is_ending():
                return


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


def _records(
    consumer: Consumer,
    topics: ChosenTopics,
    options: argparse.Namespace,
    output: IO[bytes],
    is_ending: Callable[[], bool],
) -> Iterator[ConsumerRecord]:
    start: OffsetArgument = options.start or (BEGINNING if options.exit else END)
    partitions = _partitions(consumer, topics.names, options.partition)
    if start.last is not None:
        yield from last_records(consumer, partitions, start.last)
    elif options.exit:
        assign(consumer, _within_end(consumer, partitions, start), start)
    else:
        assign(consumer, partitions, start)
    if options.exit:
        if start.last is None:
            yield from consumer.read_to_end()
        return
    while not is_ending():
        output.flush()  # whoever reads us sees a record when it comes
        for name in topics.new():
            _read_too(consumer, _partitions(consumer, [name], options.partition))
        yield from consumer.poll(ASSIGNED_POLL_MS)


def _partitions(consumer: Consumer, topics: Iterable[str], chosen: Sequence[int] | None) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    for topic in topics:
        there = consumer.partitions(topic)
        for index in chosen or ():
            if not 0 <= index < len(there):
                raise WrongUsage(f"{topic} has no partition {index}; it has {len(there)}, counted from 0")
        found += [each for each in there if not chosen or each.partition in chosen]
    return found


def _within_end(consumer: Consumer, partitions: list[TopicPartition], start: OffsetArgument) -> list[TopicPartition]:
    """Return the partitions that reach as far as an offset that was asked for. A read up to the end would give nothing
    of the others and not say why; a read that waits is refused by the broker."""
    if start.offset is None:
        return partitions
    ends = consumer.end_offsets(partitions)
    short = [f"{each.topic}-{each.partition} ends at offset {end}: it has nothing from {start.offset} on"
             for each, end in ends.items() if end < start.offset]  # fmt: skip
    if len(short) == len(partitions):
        step = "`tidelog topics offsets` shows where each partition begins and ends"
        raise CommandFailed("\n".join([*short, step]))
    for text in short:
        warn(text)
    return [each for each in partitions if ends[each] >= start.offset]


def _read_too(consumer: Consumer, partitions: Iterable[TopicPartition]) -> None:
    """Read these partitions as well, from the beginning: a topic that was created while we waited has nothing older
    than that."""
    before = {each: consumer.position(each) for each in consumer.assignment}
    consumer.assign({**before, **dict.fromkeys(partitions, EARLIEST)})


def assign(consumer: Consumer, partitions: list[TopicPartition], start: OffsetArgument) -> None:
    if start.offset is not None:
        consumer.assign(dict.fromkeys(partitions, start.offset))
    elif start in (BEGINNING, END):
        consumer.assign(dict.fromkeys(partitions, EARLIEST if start == BEGINNING else LATEST))
    else:
        consumer.assign_from_time(partitions, start.timestamp_ms)


def _limited(records: Iterator[ConsumerRecord], most: int | None) -> Iterator[ConsumerRecord]:
    """Yield at most so many records. Not by islice, which would fetch once more than it needs."""
    for number, record in enumerate(records, 1):
        yield record
        if number == most:
            return
