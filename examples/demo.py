"""`make demo`: a broker of its own, a shop full of people, a Spark job that counts what they do, and a live table of
its results, until Ctrl-C. `make demo DEMO_SECONDS=90` ends by itself, lets the job finish what was sent, compares its
results with the truth that the traffic knows, and fails where anything differs.

Without Java or PySpark it says so, and shows the broker alone (`make demo-log`).
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from examples import demo_log
from examples.demo_processes import Child, missing_for_spark, quick_java, quick_workers
from examples.demo_view import draw, draw_verdict, line
from examples.demo_watch import Snapshot, Watch
from rich.console import Console
from rich.live import Live

from tidelog import testing
from tidelog.cli.main import version_line
from tidelog.client.client import Client
from tidelog_pipelines.traffic.answers import Answers
from tidelog_pipelines.traffic.sending import create_topics
from tidelog_pipelines.traffic.verdict import Check, is_right, verdict

INTERRUPTED, TERMINATED = 130, 143
JOB = "tidelog_pipelines.ecommerce"
UNATTENDED_S = 60.0
LOOK_MS = 500
RETENTION_HOURS = 1  # of events: it may run for long
LINE_EVERY_S = 5.0
STUCK_S = float(os.environ.get("DEMO_STUCK_S", "120"))  # without a sign of life from the job


class Demo:
    def __init__(self, console: Console, bootstrap: str, watch: Watch, directory: Path) -> None:
        self._console = console
        self._bootstrap = bootstrap
        self._watch = watch
        self._truth_path = directory / "truth.json"
        self._line_due = 0.0
        self._moved: object = None
        self._moved_at = 0.0

    def run(self, traffic: Child, job: Child, seconds: float | None) -> int:
        try:
            self._show(traffic, job)
        except KeyboardInterrupt:
            if seconds is not None:
                raise
            self._console.print("ending")
            return 0
        for child in (traffic, job):
            if child.has_failed:
                self._console.print(f"[red]the {child.name} failed with exit code {child.code}[/]; it said:")
                self._console.print(child.last_words(), markup=False, soft_wrap=True)
                self._console.print(f"all that it said is in {child.keep_log()}", soft_wrap=True)
                return 1
        return self._conclude(job)

    def _show(self, traffic: Child, job: Child) -> None:
        """Show the results until the traffic has ended and everything is counted, or something has failed."""
        live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else nullcontext()
        with live as shown:
            while job.code is None and not traffic.has_failed:
                has_ended = traffic.code == 0
                state = "the traffic has ended; the job counts the rest" if has_ended else "Ctrl-C ends it"
                snapshot = self._watch.look(LOOK_MS)
                if shown is not None:
                    shown.update(draw(snapshot, self._bootstrap, state, version_line()), refresh=True)
                self._say(snapshot)
                if has_ended and (is_right(self._verdict(snapshot)) or self._is_stuck(snapshot)):
                    return

    def _is_stuck(self, snapshot: Snapshot) -> bool:
        """Return whether no answer has changed for long: what is not counted by now is missing."""
        moved = (snapshot.found, snapshot.lag)
        if moved != self._moved:
            self._moved, self._moved_at = moved, time.monotonic()
        return time.monotonic() > self._moved_at + STUCK_S

    def _say(self, snapshot: Snapshot) -> None:
        if not self._console.is_terminal and time.monotonic() >= self._line_due:
            self._console.print(line(snapshot), soft_wrap=True)
            self._line_due = time.monotonic() + LINE_EVERY_S

    def _conclude(self, job: Child) -> int:
        """End the job, and then compare its results with the truth: what it would still have changed has to be seen."""
        job.stop()
        snapshot = self._watch.final_snapshot()
        checks = self._verdict(snapshot)
        if not self._console.is_terminal:
            self._console.print(draw(snapshot, self._bootstrap, "ended", version_line()))
        self._console.print(draw_verdict(checks))
        right = is_right(checks)
        text = "[green]the pipeline has found the truth[/]" if right else "[red]the pipeline differs from the truth[/]"
        self._console.print(text)
        return 0 if right else 1

    def _verdict(self, snapshot: Snapshot) -> list[Check]:
        truth = Answers.from_json(json.loads(self._truth_path.read_text()))
        return verdict(truth, snapshot.found, self._watch.state.faults)


def run(console: Console, options: argparse.Namespace) -> int:
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="tidelog-demo-") as name,
        testing.broker(auto_create_topics_enable=False, log_retention_hours=RETENTION_HOURS) as broker,
        Client(broker.bootstrap_servers) as client,
    ):
        directory = Path(name)
        create_topics(client)
        took = f"after {time.monotonic() - began:.1f} s"
        console.print(f"broker ready on {broker.bootstrap_servers} {took}; Spark takes some seconds to start")
        demo = Demo(console, broker.bootstrap_servers, Watch(client, speed=options.speed), directory)
        with _job(broker, directory, options) as job, _traffic(broker, directory, options) as traffic:
            return demo.run(traffic, job, options.seconds)


def _traffic(broker: testing.Broker, directory: Path, options: argparse.Namespace) -> Child:
    arguments = ["tidelog", "demo", "traffic", "-b", broker.bootstrap_servers, "--truth", str(directory / "truth.json")]
    arguments += ["--rate", str(options.rate), "--speed", str(options.speed), "--seed", str(options.seed)]
    return Child("traffic", [*arguments, *(["--seconds", str(options.seconds)] if options.seconds else [])], directory)


def _job(broker: testing.Broker, directory: Path, options: argparse.Namespace) -> Child:
    directories = ["--checkpoint", str(directory / "checkpoint"), "--archive", str(directory / "archive")]
    arguments = [options.job, "--bootstrap-server", broker.bootstrap_servers, *directories]
    arguments.append("--producer-times")  # the truth goes by the times of the plan
    return Child(
        "job", arguments, directory, {**quick_java(), **(quick_workers(directory) if options.job == JOB else {})}
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="A shop, a pipeline that counts its sales, and a live table of them.")
    parser.add_argument("--seconds", type=float, help="end after so long, and compare (at a terminal: Ctrl-C; else 60)")
    parser.add_argument("--rate", type=float, default=2_000.0, help="events a second (2000)")
    parser.add_argument("--speed", type=float, default=1.0, help="how fast time passes in the shop (1)")
    parser.add_argument("--seed", type=int, default=1, help="of the traffic (1)")
    parser.add_argument("--job", default=JOB, help="a module to run instead of ours: it is held to the same truth")
    options = parser.parse_args()
    console = Console(highlight=False)
    if options.job == JOB and (missing := missing_for_spark()):
        console.print(f"[yellow]{missing}[/]\nUntil then: the broker alone, as `make demo-log` shows it.")
        return demo_log.run(console, _seconds(options, demo_log.UNATTENDED_S))
    options.seconds = _seconds(options, UNATTENDED_S)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # by way of every `with`: nothing is left running
    try:
        return run(console, options)
    except KeyboardInterrupt:
        return INTERRUPTED


def _seconds(options: argparse.Namespace, unattended_s: float) -> float | None:
    """Return how long the demo runs. Where nobody looks, it has an end, because nobody would end it."""
    return unattended_s if options.seconds is None and not sys.stdout.isatty() else options.seconds


if __name__ == "__main__":
    sys.exit(main())
