"""Colour where somebody sees it, for the few lines that are said before or without `rich`, whose import costs a tenth
of the time that a node has to start in.
"""

import os
from typing import Final, TextIO

BOLD: Final = "1"
GREEN: Final = "1;32"
RED: Final = "31"
YELLOW: Final = "33"
DIM: Final = "2"


def is_coloured(stream: TextIO) -> bool:
    """Tell whether to print colours. NO_COLOR and TERM=dumb are how a user says that they are not wanted."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO) -> str:
    return f"\033[{style}m{text}\033[0m" if is_coloured(stream) else text
