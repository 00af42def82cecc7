"""The changelog from fragments: a file in `changes/` for each change that users notice, so that two branches never
write into the same line.

    python -m tools.changelog                    print what the next release would say
    python -m tools.changelog --check            say which fragments are not in order
    python -m tools.changelog --release 0.2.0    move all into CHANGELOG.md under that version; fragments go

A fragment is one paragraph of full sentences; its name is a few words with hyphens. `changes/README.md` says more.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
UNRELEASED: Final = "## Unreleased"
WIDTH: Final = 120
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+\.md")
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def fragments(root: Path) -> list[Path]:
    return sorted(path for path in (root / "changes").glob("*") if path.name != "README.md")


def problems(root: Path) -> list[str]:
    return [f"changes/{path.name}: {reason}" for path in fragments(root) if (reason := problem(path))]


def problem(path: Path) -> str:
    """Return what is wrong with a fragment, "" where nothing is."""
    if not _NAME.fullmatch(path.name):
        return "name it like a-few-words.md"
    text = path.read_text().strip()
    if not text:
        return "it is empty"
    if "\n\n" in text or text.startswith(("- ", "#")):
        return "one paragraph, without a bullet or a heading"
    return "" if text.endswith((".", "`")) else "a full sentence ends with a full stop"


def entry(text: str) -> str:
    """Return a fragment as an item of the list."""
    words = " ".join(text.split())
    return textwrap.fill(
        words, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def unreleased(root: Path) -> str:
    """Return the list of all changes since the last release: fragments first, then what CHANGELOG.md has already."""
    _, _, rest = (root / "CHANGELOG.md").read_text().partition(f"{UNRELEASED}\n")
    written = rest.partition("\n## ")[0].strip()
    entries = [entry(path.read_text()) for path in fragments(root)]
    return "\n".join([*entries, *([written] if written else [])])


def release(root: Path, version: str, day: date) -> None:
    path = root / "CHANGELOG.md"
    before, heading, rest = path.read_text().partition(f"{UNRELEASED}\n")
    if not heading:
        raise ValueError(f"{path} has no line {UNRELEASED!r}")
    _, next_heading, older = rest.partition("\n## ")
    text = f"{before}{UNRELEASED}\n\n## {version} ({day.isoformat()})\n\n{unreleased(root)}\n{next_heading}{older}"
    path.write_text(text)
    for each in fragments(root):
        each.unlink()


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser("python -m tools.changelog", description="Assemble the changelog from fragments.")
    parser.add_argument("--check", action="store_true", help="say which fragments are not in order")
    parser.add_argument("--release", metavar="VERSION", help="write them into CHANGELOG.md under this version")
    options = parser.parse_args(arguments)
    found = problems(root)
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    if options.release is None:
        print("" if options.check else unreleased(root), end="" if options.check else "\n")
        return 0
    if not _VERSION.fullmatch(options.release):
        parser.error(f"{options.release!r} is not a version like 0.2.0")
    release(root, options.release, date.today())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
