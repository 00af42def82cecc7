"""What the job is told: where the cluster is and how to reach it, where state and archive go, and how often results are
wanted."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tidelog.config import parse_properties
from tidelog_pipelines.ecommerce.events import EventTopics

DEAD_LETTERS: Final = "dead_letters"
KAFKA: Final = "kafka."
_UNITS: Final = {"ms": "milliseconds", "s": "seconds", "m": "minutes"}


@dataclass(frozen=True, slots=True)
class Settings:
    bootstrap: str
    checkpoint: str
    archive: str | None = None
    events_prefix: str = ""
    results_prefix: str = ""
    trigger: str = "1 seconds"
    slow_trigger: str = "5 seconds"
    is_available_now: bool = False
    master: str | None = None
    state_partitions: int = 1
    max_offsets: int = 200_000
    spark: tuple[tuple[str, str], ...] = ()
    kafka: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # of Kafka's clients; there may be passwords
    believes_producers: bool = False  # about the time of a record

    @property
    def topics(self) -> EventTopics:
        return EventTopics(self.events_prefix)

    @property
    def dead_letters(self) -> str:
        return self.results_prefix + DEAD_LETTERS

    @property
    def cluster(self) -> dict[str, str]:
        """The options of every connection: those of sources and sinks, of the look back, and of who makes the
        topics."""
        named = {KAFKA + name.removeprefix(KAFKA): value for name, value in self.kafka}
        return {**named, "kafka.bootstrap.servers": self.bootstrap}

    def when(self, every: str) -> dict[str, Any]:
        """Return the trigger of a query, as `DataStreamWriter.trigger` takes it."""
        return {"availableNow": True} if self.is_available_now else {"processingTime": every}

    def checkpoint_of(self, query: str) -> str:
        return f"{self.checkpoint.rstrip('/')}/{query}"


def parse(arguments: Sequence[str] | None = None) -> Settings:
    given = _parser().parse_args(arguments)
    return Settings(
        bootstrap=given.bootstrap_server,
        checkpoint=given.checkpoint,
        archive=given.archive,
        events_prefix=given.events_prefix,
        results_prefix=given.results_prefix,
        trigger=given.trigger,
        slow_trigger=given.slow_trigger,
        is_available_now=given.available_now,
        master=given.master,
        state_partitions=given.state_partitions,
        max_offsets=given.max_offsets_per_trigger,
        spark=tuple(given.conf),
        kafka=(*given.command_config, *given.kafka),
        believes_producers=given.producer_times,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tidelog_pipelines.ecommerce", description=_DESCRIPTION)
    add = parser.add_argument
    add("--bootstrap-server", required=True, metavar="HOST:PORT", help="the cluster; several with commas between")
    add("--checkpoint", required=True, metavar="DIRECTORY", help="where the queries keep offsets and state")
    add("--archive", metavar="DIRECTORY", help="where raw events go as Parquet; without it they are not archived")
    add("--events-prefix", default="", metavar="TEXT", help="how the names of the event topics begin")
    add("--results-prefix", default="", metavar="TEXT", help="how the names of the result topics begin")
    add("--trigger", type=interval, default="1s", metavar="TIME", help="between two results (default 1s)")
    slow = "between two batches of dead letters, and of the archive (default 5s)"
    add("--slow-trigger", type=interval, default="5s", metavar="TIME", help=slow)
    add("--available-now", action="store_true", help="process what is there now, then end")
    add(
        "--master",
        metavar="URL",
        help="of Spark: local[2], spark://host:7077 (default: what spark-submit says, or local[*])",
    )
    state = "of the state; fixed by the first run on a checkpoint (default 1: there are a few rows a minute)"
    add("--state-partitions", type=int, default=1, metavar="COUNT", help=state)
    limit = "records a micro-batch at most, so that a backlog is worked off in pieces (default 200000)"
    add("--max-offsets-per-trigger", type=int, default=200_000, metavar="COUNT", help=limit)
    add("--conf", type=assignment, action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark's")
    _add_connection(parser)
    return parser


def _add_connection(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    config = "settings of Kafka's clients, a file of NAME=VALUE lines: security.protocol, sasl.jaas.config and the like"
    add("--command-config", type=properties, default=(), metavar="FILE", help=config)
    one = "one of them; wins over the file, and shows in lists of processes, so no password"
    add("--kafka", type=assignment, action="append", default=[], metavar="NAME=VALUE", help=one)
    times = "believe the times that producers write (topics with CreateTime): for traffic that is generated or replayed"
    add("--producer-times", action="store_true", help=times)


_DESCRIPTION: Final = "Total sales and most viewed products from a stream of shop events, kept up to date in topics."


def interval(text: str) -> str:
    """Return `500ms`, `1s` or `2m` in Spark's words."""
    found = re.fullmatch(r"(\d+)\s*(ms|s|m)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 500ms, 1s or 2m")
    return f"{found[1]} {_UNITS[found[2]]}"


def properties(path: str) -> tuple[tuple[str, str], ...]:
    """Read the settings in a file as Kafka's own tools read it."""
    try:
        found = parse_properties(Path(path).read_bytes().decode("iso-8859-1"))
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {error}") from None
    return tuple(found.items())


def assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} assigns nothing: write name=value")
    return name, value
