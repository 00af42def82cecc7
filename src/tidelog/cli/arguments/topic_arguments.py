"""The topics that a command is about: as plain words, or behind `--topic`, as Kafka's tools have it."""

import argparse
import re
from typing import Final

from tidelog.cli.failing import WrongUsage

_SAME: Final = "the same, as Kafka's tools call it"
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


def add_topics(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for one or several topics; `topics_of` gets them."""
    parser.add_argument("topics", nargs="*", metavar="TOPIC", default=[], help="one or several")
    parser.add_argument("--topic", dest="named_topics", metavar="TOPIC", action="append", default=[], help=_SAME)


def topics_of(options: argparse.Namespace) -> list[str]:
    """Return each topic once. WrongUsage where none is named."""
    found = list(dict.fromkeys([*options.topics, *options.named_topics]))
    if not found:
        raise WrongUsage("which topic? Name one, or several parted by spaces")
    return found


def add_topic(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for a single topic; `topic_of` gets it."""
    parser.add_argument("topic", nargs="?", metavar="TOPIC")
    parser.add_argument("--topic", dest="named_topic", metavar="TOPIC", help=_SAME)


def topic_of(options: argparse.Namespace) -> str:
    """Return the topic. WrongUsage where none is named, or two."""
    found = [each for each in (options.topic, options.named_topic) if each is not None]
    if len(found) != 1:
        raise WrongUsage("which topic? Name one" if not found else f"one topic, please: {' or '.join(found)}?")
    return str(found[0])


def check_names(names: list[str], to_read: str) -> None:
    """Raise WrongUsage for what cannot be the name of a topic, with what was probably meant; `to_read` is the
    command."""
    for name in names:
        if "," in name:
            raise WrongUsage(f"several topics are parted by spaces: `{to_read} {' '.join(name.split(','))}`")
        if not _NAME.fullmatch(name):
            raise WrongUsage(f"{name!r} is no name of a topic; a regular expression goes with --include")
