"""The reference page: complete, linked, and equal to what is committed."""

import re
from pathlib import Path

import pytest

from tidelog.config.catalogue import SECTIONS
from tidelog.config.reference import render
from tidelog.config.units import humanize

PAGE = Path(__file__).parent.parent.parent.parent / "docs/reference/config.md"


def test_the_committed_page_is_what_the_declarations_say() -> None:
    assert PAGE.read_text() == render(), "run `make docs`"


def test_every_setting_has_a_heading_and_every_link_a_target() -> None:
    page = render()
    anchors = re.findall(r'<a id="([^"]+)"></a>', page)
    assert len(anchors) == len(set(anchors)) == sum(not each.internal for s in SECTIONS for each in s.settings)
    headings = ["".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
                for title in re.findall(r"^## (.+)$", page, re.MULTILINE)]  # fmt: skip
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= {*anchors, *headings}


def test_an_entry_says_all_that_is_declared() -> None:
    page = render()
    entry = page[page.index('<a id="topic-segment.ms">') :].partition("\n### ")[0]
    assert "| long | `604800000` (7 days) | a long of at least 1 | topic | honoured |" in entry
    assert "**Falls back to:** [`log.roll.ms`](#log.roll.ms), then [`log.roll.hours`](#log.roll.hours)" in entry
    entry = page[page.index('<a id="log.dir.reserved.bytes">') :].partition("\n### ")[0]
    assert "`268435456` (256 MiB)" in entry
    assert "**Differs:** Ours" in entry
    entry = page[page.index('<a id="num.io.threads">') :].partition("\n### ")[0]
    assert "| harmless |" in entry
    assert "**Harmless:** One event loop" in entry
    entry = page[page.index('<a id="authorizer.class.name">') :].partition("\n### ")[0]
    assert "| refused |" in entry
    assert "**Refused:** There is no authorizer yet" in entry


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("retention.ms", 604_800_000, "7 days"),
        ("retention.ms", 3_600_000, "1 hour"),
        ("retention.ms", 500, ""),
        ("retention.ms", -1, ""),
        ("retention.ms", 1_500, ""),
        ("log.roll.hours", 168, "7 days"),
        ("offsets.retention.minutes", 10_080, "7 days"),
        ("quota.window.size.seconds", 1, "1 second"),
        ("segment.bytes", 1 << 30, "1 GiB"),
        ("message.max.bytes", 1_048_588, "about 1.0 MiB"),
        ("offsets.load.buffer.size", 5 << 20, "5 MiB"),
        ("flush.messages", (1 << 63) - 1, "no limit"),
        ("max.connections", (1 << 31) - 1, "no limit"),
        ("num.partitions", 1_048_576, ""),
    ],
)
def test_numbers_are_shown_as_people_read_them(name: str, number: int, text: str) -> None:
    assert humanize(name, number) == text
