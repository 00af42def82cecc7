"""Every `tidelog ...` that a page, the image or the service unit tells people to type is one that the parser takes."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tidelog.cli.commands import NAMES, build_parser
from tidelog.cli.main import joined

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "docs/operations.md", "docs/spark.md", "docs/testing.md")
BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# At the start of a line, after a pipe, as a path (/opt/tidelog/bin/tidelog), or after a prompt.
COMMAND = re.compile(r"(?:^|\| |bin/|^\$ \.venv/bin/)tidelog ((?:[a-z-]+)(?: .*)?)$")
IMAGE = re.compile(r"^    tidelog (.*)$")  # the last line of a `docker run`


def commands_of(page: str) -> list[str]:
    lines = [line for block in BLOCK.findall((ROOT / page).read_text()) for line in block.splitlines()]
    found = [match[1] for line in lines if (match := COMMAND.search(line) or IMAGE.search(line))]
    return [command for command in found if command.split()[0] in NAMES]


def assert_parses(words: list[str]) -> None:
    build_parser(NAMES).parse_args(joined(words))


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_to_type_is_understood(page: str) -> None:
    for command in commands_of(page):
        assert_parses(shlex.split(command, comments=True))


def test_the_pages_are_really_read() -> None:
    assert "consume greetings --from beginning --exit" in commands_of("README.md")
    assert sum(command.startswith("format ") for command in commands_of("docs/operations.md")) == 3


def test_what_the_image_runs_is_understood() -> None:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    command = re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)
    health = re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", text, re.MULTILINE)
    assert command
    assert health
    options = build_parser(NAMES).parse_args(json.loads(command[1]))
    code = json.loads(health[1])[2]
    assert f":{options.metrics_port}/readyz" in code
    compile(code, "HEALTHCHECK", "exec")


def test_what_the_service_runs_is_understood() -> None:
    line = re.search(r"^ExecStart=\S+/tidelog (.*)$", (ROOT / "packaging/tidelog.service").read_text(), re.MULTILINE)
    assert line
    assert_parses(line[1].split())
