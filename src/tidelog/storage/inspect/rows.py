"""One thing found in a file, ready to be shown."""

from dataclasses import dataclass


@dataclass(slots=True)
class Row:
    """One thing found in a file. `kind` says which values there are: all rows of a kind have the same names in the same
    order.

    Values are numbers, text, bytes, lists of those, or messages of the protocol layer; None where there is nothing.
    """

    kind: str
    values: dict[str, object]
