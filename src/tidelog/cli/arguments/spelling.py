"""What somebody probably meant: the names most like one that does not exist."""

from collections.abc import Iterable
from typing import Final

LIKENESS: Final = 0.6  # by difflib's ratio: two letters swapped in a word of five are nearer than this
SUGGESTIONS_MAX: Final = 3


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return the names most like `word`, best first: those that it abbreviates, then those that look like it."""
    import difflib  # only a mistake pays for it

    there = sorted(set(names))
    begun = [name for name in there if word.strip("-") and name.startswith(word)]
    folded = {name.lower(): name for name in there}
    alike = [folded[each] for each in difflib.get_close_matches(word.lower(), folded, SUGGESTIONS_MAX, LIKENESS)]
    return list(dict.fromkeys([*begun, *alike]))[:SUGGESTIONS_MAX]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return `; did you mean orders?`, to be put behind a sentence; nothing where no name is like the word."""
    found = nearest(word, names)
    if not found:
        return ""
    return f"; did you mean {' or '.join([', '.join(found[:-1]), found[-1]] if len(found) > 1 else found)}?"
