"""The console that everything for people is printed on: colours on a terminal; without one no colours and no limit of
width, so that grep and less work on a table.
"""

import os
from typing import Final

from rich.console import Console

PIPE_WIDTH: Final = 4000


def make_console(*, stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console
