"""`tidelog perf`: how fast a cluster answers this client. The client is Python and one thread: it shows what our tools
get out of a cluster, and the latency of one request at a time; it is no load generator for the limits of a broker.
"""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.offset_arguments import BEGINNING, OFFSET_FORMS, parse_offset
from tidelog.cli.arguments.parsers import add_actions, add_command, count
from tidelog.cli.cluster.connecting import add_client_command
from tidelog.cli.perf import runs as perf_runs
from tidelog.cli.produce.command import ACKS, ACKS_HELP, CODECS

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_TOPIC = "tidelog-perf"
DESCRIPTION = """\
Measure what this client gets out of a cluster: one thread, in Python. On a terminal a table shows how it goes.
"""
EXAMPLES = """\
  tidelog perf produce --records 1000000 --size 1000
  tidelog perf consume --records 1000000
  tidelog perf latency --records 2000 --png latency.png
"""


def add_parser(commands: "Actions") -> None:
    help_text = "how fast it goes: produce, consume, latency"
    parser = add_command(commands, "perf", help_text, description=DESCRIPTION, examples=EXAMPLES, has_json=False)
    actions = add_actions(parser)
    _add_produce(actions)
    _add_consume(actions)
    _add_latency(actions)


def _add(actions: "Actions", name: str, help_text: str, records: int, example: str) -> argparse.ArgumentParser:
    parser = add_client_command(actions, name, help_text, examples=example)
    parser.add_argument("topic", nargs="?", default=DEFAULT_TOPIC, metavar="TOPIC", help="unless told, %(default)s")
    parser.add_argument("-n", "--records", metavar="N", type=count, default=records, help="how many (%(default)s)")
    parser.add_argument("--png", metavar="FILE", help="a plot too; needs matplotlib")
    return parser


def _add_produce(actions: "Actions") -> None:
    parser = _add(actions, "produce", "write records as fast as it goes", 500_000, EXAMPLES.splitlines()[0])
    _add_record_options(parser)
    parser.add_argument("-z", "--compression", choices=list(CODECS), default="none", help="of batches (%(default)s)")
    parser.add_argument("--batch-bytes", metavar="N", type=count, default=128 * 1024, help="of a batch (%(default)s)")
    parser.add_argument("--linger-ms", metavar="N", type=int, default=5, help="wait so long for more (%(default)s)")
    parser.add_argument("--rate", metavar="N", type=count, help="no more records a second than this")
    parser.set_defaults(run=perf_runs.run_produce)


def _add_consume(actions: "Actions") -> None:
    parser = _add(actions, "consume", "read records as fast as it goes", 500_000, EXAMPLES.splitlines()[1])
    parser.add_argument(
        "--from", dest="start", metavar="OFFSET", type=parse_offset, default=BEGINNING, help=OFFSET_FORMS
    )
    parser.set_defaults(run=perf_runs.run_consume)


def _add_latency(actions: "Actions") -> None:
    help_text = "one record at a time: until it is acknowledged, and until a consumer has it"
    parser = _add(actions, "latency", help_text, 1_000, EXAMPLES.splitlines()[2])
    _add_record_options(parser)
    parser.set_defaults(run=perf_runs.run_latency)


def _add_record_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-s", "--size", metavar="BYTES", type=count, default=1_000, help="of a value (%(default)s)")
    parser.add_argument("--acks", choices=list(ACKS), default="all", help=ACKS_HELP)
