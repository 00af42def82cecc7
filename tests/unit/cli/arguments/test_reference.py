import re
from pathlib import Path

from tidelog.cli.arguments.reference import render, usage
from tidelog.cli.arguments.tree import command_tree

PAGE = Path(__file__).parents[4] / "docs/reference/cli.md"


def test_the_committed_page_is_what_the_parsers_say() -> None:
    assert PAGE.read_text() == render(), "run `make docs`"


def test_every_command_has_a_section_and_every_link_a_target() -> None:
    page = render()
    headings = re.findall(r"^#+ (tidelog .+)$", page, re.MULTILINE)
    assert headings == [f"tidelog {' '.join(node.path)}" for node in command_tree().walk() if node.path]
    targets = {heading.replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= targets


def test_usage_names_what_is_needed() -> None:
    lines = {node.path: usage(node) for node in command_tree().walk()}
    assert lines["format",] == "tidelog format --cluster-id ID --config FILE [options]"
    assert lines["produce",] == "tidelog produce [TOPIC] [FILE...] [options]"
    assert lines["configs", "unset"] == (
        "tidelog configs unset (--topic NAME | --broker ID | --cluster | --group NAME) KEY... [options]"
    )
