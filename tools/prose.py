"""Rules of names and prose that a machine can check: `python -m tools.prose [PATH ...]` lists what breaks them.

- A docstring of a function opens with a verb or a subject, one of a class says what an instance is: no fragments.
- A name in backticks resolves, from where it stands (`tools/prose_names.py` says how).
- Kafka's vocabulary: the synonyms below are not used as names, and classes are nouns.

`tests/unit/test_prose.py` holds the whole tree to it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.prose_names import ROOT, SOURCES, Names, module

# First words of sentences without a verb: the reader has to find out what "Of one query." is about.
FRAGMENT_OPENERS: Final = re.compile(
    "After|Also|And|Anew|As|Asked|At|Before|Begun|Behind|Being|Below|Between|But|By|Driven|Durable|During|Else|Empty|"
    "Fewer|For|From|In|Into|Its|Like|Met|None|Not|Of|On|Once|Only|Or|Otherwise|Per|Since|So|Started|That|Their|Though|"
    "Through|Told|To|Under|Unlike|Until|Upon|While|With|Within|Without"
)
# Clauses that say what a value is, and not what the function does. A class may be described by one.
CLAUSE_OPENERS: Final = re.compile("How|Those|What|When|Where|Whether|Which|Who|Whom|Whose|Why")
# Questions: what the answer means is left to the reader.
QUESTION_OPENERS: Final = re.compile("Are|Can|Did|Does|Has|Is|May|Must|Should|Was|Were")
# Verbs without the one who does it: "Waits so many seconds." is "Wait so many seconds."
SUBJECTLESS: Final = re.compile(
    "Adds|Allows|Appends|Asks|Blocks|Builds|Calls|Checks|Closes|Compares|Computes|Creates|Decodes|Deletes|Drops|Encodes|Ends|"
    "Expects|Fails|Fetches|Finds|Forgets|Gives|Goes|Holds|Keeps|Leaves|Loads|Looks|Makes|Moves|Needs|Opens|Parses|"
    "Prints|Produces|Puts|Raises|Reads|Refuses|Removes|Replaces|Returns|Runs|Says|Sees|Sends|Sets|Shows|Skips|Sleeps|"
    "Starts|Stops|Takes|Tells|Tries|Turns|Updates|Waits|Writes|Yields"
)

# Parts of names that stand for something that Kafka, or the rest of the tree, calls otherwise.
BANNED_NAMES: Final = {
    "place": "topic_partition (or position, offset, directory)",
    "places": "topic_partitions",
    "cut": "truncate (or slice, split, interrupt)",
    "cuts": "truncations (or slices)",
}
IDIOMS: Final = ("in_place",)
BANNED_CLASSES: Final = ("Asked", "Begun", "Given", "Kept", "Made", "Making", "Said", "Told", "Wanted")
# What could be called anything: such a name says that nobody knew what the thing is.
BANNED_WORDS: Final = ("utils", "helpers", "helper", "manager", "impl")


class Finding(NamedTuple):
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.text}"


def findings(path: Path) -> Iterator[Finding]:
    for each in module(path).docstrings:
        if each.of and is_fragment(each.text, is_class=each.is_class):
            yield Finding(path, each.line, f"{each.of}: fragment: {each.text.strip().splitlines()[0]}")
    yield from _banned(path)
    for line, name in Names(path).unresolved():
        yield Finding(path, line, f"`{name}` resolves to nothing")


def is_fragment(text: str, *, is_class: bool) -> bool:
    """Tell whether a docstring opens with neither a verb nor a subject, as far as its first word gives it away."""
    begin = text.split()[0]
    first = begin.rstrip(":,.;")
    if is_class:  # "As much of a checkpoint as the sink looks at" is an instance
        return first != "As" and any(opener.fullmatch(first) for opener in (FRAGMENT_OPENERS, SUBJECTLESS))
    return begin.endswith("`:") or any(
        opener.fullmatch(first) for opener in (FRAGMENT_OPENERS, SUBJECTLESS, QUESTION_OPENERS, CLAUSE_OPENERS)
    )


def _banned(path: Path) -> Iterator[Finding]:
    if path.stem.lower().strip("_") in BANNED_WORDS:
        yield Finding(path, 1, f"{path.name}: say what is in it")
    for line, name in module(path).bound:
        if name.strip("_") in BANNED_CLASSES:
            yield Finding(path, line, f"{name}: a class is a noun")
        if name[0].isupper() and name.lower().endswith(BANNED_WORDS):
            yield Finding(path, line, f"{name}: say what it does")
        parts = name.lower().split("_")
        banned = [part for part in parts if part in BANNED_NAMES]
        if banned and parts[0] != "test" and not name.lower().endswith(IDIOMS):
            yield Finding(path, line, f"{name}: say {BANNED_NAMES[banned[0]]}")


def main(arguments: list[str]) -> int:
    asked = [Path(each).resolve() for each in arguments]
    paths = [path for path in SOURCES if not asked or any(path.is_relative_to(each) for each in asked)]
    found = [finding for path in paths for finding in findings(path)]
    for each in found:
        print(each)
    print(f"{len(found)} findings in {len(paths)} files", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
