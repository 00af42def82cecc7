"""The pieces of code in the guide to Spark are those of its programs, which tests/spark runs."""

import re
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
PAGES = ("docs/spark.md", "README.md")
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PROGRAMS = [path.read_text() for path in sorted((ROOT / "examples" / "spark").glob("*.py"))]
# What a function of a program returns is an expression on the page.
SHOWN = [text.replace(" return ", " ") for text in PROGRAMS]


def blocks_of(page: str) -> list[str]:
    found = [dedent(match[2]) for match in BLOCK.finditer((ROOT / page).read_text())]
    return found if page == "docs/spark.md" else [block for block in found if '"tidelog"' in block]


@pytest.mark.parametrize("page", PAGES)
def test_a_piece_of_code_is_one_that_is_run(page: str) -> None:
    blocks = blocks_of(page)
    assert blocks
    for block in blocks:
        compile(block, page, "exec")
        assert any(indent(block, " " * depth) in text for text in SHOWN for depth in (0, 4, 8)), block


def test_every_program_has_its_place_in_the_guide() -> None:
    pieces = blocks_of("docs/spark.md")
    for text in SHOWN:
        assert any(indent(piece, " " * depth) in text for piece in pieces for depth in (4, 8))
