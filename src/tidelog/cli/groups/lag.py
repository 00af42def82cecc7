"""`tidelog groups lag`: how far behind a group is, how fast it reads, and when it would have caught up."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.durations import DURATIONS, duration_ms, shown_duration
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.failing import WrongUsage
from tidelog.cli.groups.progress import CAUGHT_UP, Progress, lag_row, progress, total_row
from tidelog.cli.output.rows import NOTHING, lag, number, rate, show_json, show_rows, show_title, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

Sample = dict[str, dict[TopicPartition, Progress]]

DESCRIPTION = """\
How far behind the end of each partition a group is, at once. A second look, --interval later, gives the rates of
consumption and production, and from these the time that the group would take to catch up. Consumers commit every 5
seconds unless they are told otherwise: in an interval in which a group does not commit, it seems to stand still.
With --json there is one answer: at once and without rates, or after --interval with them; with --watch, all of them.
"""
EXAMPLES = """\
  tidelog groups lag billing
  tidelog groups lag billing --interval 30s --topic orders
  tidelog groups lag billing --watch
  tidelog groups lag billing --json | jq -s 'map(.lag) | add'
"""
OUTLOOK_MS = 10_000


def catch_up(value: Any) -> str:
    if value is None:
        return NOTHING
    style = "green" if value == CAUGHT_UP else "red" if value.startswith("never") else "yellow"
    return f"[{style}]{value}[/]"


COLUMNS = {
    "topic": text,
    "partition": number,
    "committed": number,
    "end": number,
    "lag": lag,
    "consumed_per_s": rate,
    "produced_per_s": rate,
    "catch_up": catch_up,
    "client_id": text,
}
RATES = ("consumed_per_s", "produced_per_s", "catch_up")  # shown after the second look


def add_lag(actions: "Actions") -> None:
    parser = add_client_command(
        actions, "lag", "how far behind a group is, and for how long", description=DESCRIPTION, examples=EXAMPLES
    )
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    parser.add_argument("--topic", metavar="TOPIC", action="append", default=[], help="only of this topic")
    parser.add_argument(
        "--interval", metavar="DURATION", type=duration_ms,
        help=f"between two looks: {DURATIONS}; unless told, 10s. 0s: only one look, and no rates",
    )  # fmt: skip
    parser.add_argument("--watch", action="store_true", help="go on, and show it anew after every interval")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    interval_ms = interval_of(options)
    with connected(options) as client:
        admin = Admin(client)
        before, at_ms = _sample(admin, options), client.now_ms()
        if options.watch or not options.json or not interval_ms:
            _show(before, None, 0, options)
        if not interval_ms:
            return 0
        sys.stdout.flush()
        if sys.stderr.isatty():
            print(f"again in {shown_duration(interval_ms / 1000)}, with rates; Ctrl-C ends it", file=sys.stderr)
        while True:
            client.pause(max(0, at_ms + interval_ms - client.now_ms()))
            now, then_ms = _sample(admin, options), at_ms
            at_ms = client.now_ms()
            _show(now, before, (at_ms - then_ms) / 1000, options)
            sys.stdout.flush()
            if not options.watch:
                return 0
            before = now


def interval_of(options: argparse.Namespace) -> int:
    """Return the milliseconds between two looks; 0: there is no second look. A program that asks for no rates does not
    wait for them."""
    if options.interval is not None:
        if options.watch and not options.interval:
            raise WrongUsage("--watch needs time between two looks: leave --interval out, or give it one")
        return int(options.interval)
    return 0 if options.json and not options.watch else OUTLOOK_MS


def _sample(admin: Admin, options: argparse.Namespace) -> Sample:
    found: Sample = {}
    for group_id, outcome in admin.describe_groups(options.groups).items():
        if isinstance(outcome, ClientError):
            raise outcome
        found[group_id] = {each.partition: each for each in progress(admin, outcome, options.topic)}
    return found


def _show(now: Sample, before: Sample | None, seconds: float, options: argparse.Namespace) -> None:
    if before is not None and not options.json:
        print()
        show_title(f"{time.strftime('%H:%M:%S')}, rates over {seconds:.1f} s")
    for group_id, found in now.items():
        former = (before or {}).get(group_id, {})
        rows = [
            lag_row(group_id, each, former.get(topic_partition), seconds) for topic_partition, each in found.items()
        ]
        if options.json:
            show_json(rows)
            continue
        total = total_row(group_id, rows)
        ending = f", {total['catch_up']}" if total["catch_up"] else ""
        show_title(f"{group_id}  lag {total['lag']}{ending}")
        columns = COLUMNS if before is not None else {name: COLUMNS[name] for name in COLUMNS if name not in RATES}
        show_rows(rows, columns, as_json=False, empty="no offsets")
