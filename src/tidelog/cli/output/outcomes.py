"""The end of a command that changed something: a sentence for each thing that was done, and an error for each that was
not, all of them; exit code 1 if there was one.
"""

import argparse
from collections.abc import Callable, Sequence

from tidelog.cli.failing import CommandFailed
from tidelog.cli.output.rows import Row, show_json


def conclude(
    done: Sequence[Row], sentence: Callable[[Row], str], refused: Sequence[object], options: argparse.Namespace
) -> int:
    """Report what was done, and raise CommandFailed if something was refused; return the exit code otherwise."""
    if options.json:
        show_json(done)
    else:
        for row in done:
            print(sentence(row))
        if not done and not refused:
            print("nothing to do")
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))
    return 0
