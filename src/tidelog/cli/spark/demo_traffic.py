"""`tidelog demo traffic`: the shoppers of `tidelog_pipelines.traffic` into a cluster, and the truth about them into a
file when they are gone.

The shoppers are in a distribution of their own: a broker carries no shop. Without it the command says what to install.
"""

import argparse
import json
import os
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidelog.cli.arguments.parsers import count
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.cli.output.meter import Meter

if TYPE_CHECKING:
    # Imported when it runs, not when its help is shown.
    from tidelog_pipelines.traffic.generator import Event, Plan
    from tidelog_pipelines.traffic.truth import Truth

    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

MISSING: Final = """\
the shoppers are in a distribution of their own, tidelog-pipelines, which is not installed
install it in a clone of Tidelog with: pip install ./pipelines
or from a directory with the wheels of a release: pip install --find-links DIRECTORY tidelog-pipelines\
"""
DESCRIPTION = """\
Shoppers, from a seed: they look at products, fill carts and buy, some are robots, and some of what they send is late,
repeated or malformed. Topics product_viewed, add_to_cart and purchase_completed, keyed by user_id, values in JSON; they
are made where they are missing. The same seed, rate, speed and start give the same records. Ctrl-C and SIGTERM end it
in order: what was sent is acknowledged, and the truth about it is written.
"""
EXAMPLES = """\
  tidelog demo traffic                                      a thousand events a second, until Ctrl-C
  tidelog demo traffic --rate 20000 --seconds 60 --seed 7
  tidelog demo traffic --speed 60 --events 100000 --truth truth.json
"""


def add_traffic(actions: "Actions") -> None:
    help_text = "shoppers that look, fill carts and buy"
    parser = add_client_command(actions, "traffic", help_text, description=DESCRIPTION, examples=EXAMPLES)
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="of all that happens by chance (%(default)s)")
    parser.add_argument("--rate", metavar="N", type=positive, default=1_000.0, help="events a second (1000)")
    parser.add_argument(
        "--speed",
        metavar="N",
        type=positive,
        default=1.0,
        help="how fast time passes for the shoppers: with 60 a second is a minute of theirs (1)",
    )
    parser.add_argument(
        "--start",
        metavar="MS",
        type=count,
        help="the time of the first event, in milliseconds since 1970 (now)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("-n", "--events", metavar="N", type=count, help="end after so many")
    length.add_argument(
        "--seconds", metavar="N", type=positive, help="end after as many as the rate gives in this time"
    )
    parser.add_argument("--truth", metavar="FILE", type=Path, help="write here what a right pipeline has to find")
    parser.add_argument(
        "--partitions", metavar="N", type=count, default=2, help="of topics that are made (%(default)s)"
    )
    parser.add_argument("--topic-prefix", metavar="TEXT", default="", help="put this before the names of the topics")
    parser.set_defaults(run=run)


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def run(options: argparse.Namespace) -> int:
    if find_spec("tidelog_pipelines") is None:
        raise CommandFailed(MISSING)
    from tidelog_pipelines.traffic.truth import Truth

    plan = _plan(options)
    truth = Truth() if options.truth else None
    if options.truth and not options.truth.absolute().parent.is_dir():
        raise WrongUsage(f"{options.truth}: there is no directory {options.truth.absolute().parent}")
    meter = Meter("sent", is_shown=sys.stderr.isatty())
    _send(options, plan, truth, meter)
    meter.finish()
    if truth is not None:
        _write(options.truth, _facts(plan, meter) | _found(truth))
    if options.json:
        print(json.dumps(_facts(plan, meter) | {"bytes": meter.size_bytes, "seconds": round(meter.seconds, 3)}))
    return 0


def _plan(options: argparse.Namespace) -> "Plan":
    from tidelog_pipelines.traffic.generator import Plan

    events = options.events if options.seconds is None else max(1, round(options.seconds * options.rate))
    start_ms = options.start or int(time.time() * 1000)
    return Plan(options.seed, start_ms, options.rate, options.speed, events)


def _count(meter: Meter, chunk: "list[Event]") -> None:
    for event in chunk:
        meter.add(len(event.value))


def _send(options: argparse.Namespace, plan: "Plan", truth: "Truth | None", meter: Meter) -> None:
    from tidelog_pipelines.traffic.sending import Sending, create_topics

    with connected(options) as client:
        sending = Sending(client, plan, prefix=options.topic_prefix, truth=truth)
        before = {each: signal.signal(each, lambda *_: sending.stop()) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            create_topics(client, options.topic_prefix, options.partitions)
            sending.run(lambda chunk: _count(meter, chunk))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _facts(plan: "Plan", meter: Meter) -> dict[str, Any]:
    names = ("seed", "start_ms", "rate", "speed")
    return {**{name: getattr(plan, name) for name in names}, "events": meter.records}


def _found(truth: "Truth") -> dict[str, Any]:
    return {"robots": truth.robots, "repeats": truth.repeats, **truth.answers().to_json()}


def _write(path: Path, found: dict[str, Any]) -> None:
    """Write the file whole or not at all: somebody may be waiting for it to appear."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(found, indent=1) + "\n")
        draft.replace(path)
    except OSError as error:
        raise CommandFailed(f"{path}: the truth could not be written: {error.strerror}") from error
