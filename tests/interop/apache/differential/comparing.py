"""The differences between two transcripts, in words."""

from collections.abc import Iterator
from itertools import zip_longest

from tests.interop.apache.differential.plain import Plain
from tests.interop.apache.differential.world import Step, Transcript

NOTHING = Step("nothing", None)


def differences(apache: Transcript, ours: Transcript) -> list[str]:
    found: list[str] = []
    for number, (theirs, our) in enumerate(zip_longest(apache, ours, fillvalue=NOTHING), 1):
        if theirs.request != our.request:
            return [*found, f"{number}: Apache was at {theirs.request}, we at {our.request}: {our.answer}"]
        for path, their_value, our_value in _differing("", theirs.answer, our.answer):
            found.append(f"{number}: {theirs.request}{path}: Apache says {their_value!r}, we {our_value!r}")
    return found


def _differing(path: str, theirs: Plain, ours: Plain) -> Iterator[tuple[str, Plain, Plain]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name, value in theirs.items():
            yield from _differing(f"{path}.{name}", value, ours.get(name))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, pair in enumerate(zip(theirs, ours, strict=True)):
            yield from _differing(f"{path}[{index}]", *pair)
    elif theirs != ours:
        yield path, theirs, ours
