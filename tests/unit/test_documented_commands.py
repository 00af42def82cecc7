"""Every `tidelog ...` that a page, the image or the service unit tells people to type is accepted by the parser."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tidelog.cli.cluster.configs import resource_of
from tidelog.cli.commands import NAMES, build_parser
from tidelog.config import Alteration, AlterOp, alter_broker, alter_group, alter_topic, load_broker_config
from tidelog.metadata.configs import ResourceType

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


# Within a sentence or a cell of a table.
INLINE = re.compile(r"`tidelog (configs set [^`]+)`")
ALL_PAGES = sorted(str(page.relative_to(ROOT)) for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
NODE = "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:9093\n"
LISTENERS = "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"


def settings_of(page: str) -> list[str]:
    """Return every `tidelog configs set` of a page."""
    shown = [each for each in commands_of(page) if each.startswith("configs set ")] if page in PAGES else []
    return [*shown, *INLINE.findall((ROOT / page).read_text())]


def assert_parses(words: list[str]) -> None:
    build_parser(NAMES).parse_args(words)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_to_type_is_understood(page: str) -> None:
    for command in commands_of(page):
        assert_parses(shlex.split(command, comments=True))


@pytest.mark.parametrize("page", ALL_PAGES)
def test_what_a_page_says_to_set_is_accepted(page: str) -> None:
    config = load_broker_config(NODE + LISTENERS).config
    for command in settings_of(page):
        options = build_parser(NAMES).parse_args(shlex.split(command, comments=True))
        asked = [Alteration(name, AlterOp.SET, value) for name, value in options.settings]
        kind, name = resource_of(options)
        if kind is ResourceType.TOPIC:
            alter_topic(config, {}, asked)
        elif kind is ResourceType.GROUP:
            alter_group(config, {}, asked)
        else:
            alter_broker(config, {}, asked, cluster_wide=not name)


def test_the_pages_are_really_read() -> None:
    assert any("--group" in command for command in settings_of("docs/groups-and-transactions.md"))
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
