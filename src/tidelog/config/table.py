"""Settings that the node knows and does not act on, a row each.

A table stands where its first setting has its place in the reference, because constants of a module are read in their
order. Its rows are declared like any other setting, but without a name: nothing asks for their value. What all rows
have in common, as a rule the reason why they are harmless or refused, is said once, behind them:

    SAMPLES = table(
        setting("quota.window.num", INT, 11, "Samples kept for client quotas.", validator=at_least(1)),
        setting("quota.window.size.seconds", INT, 1, "The length of each sample.", validator=at_least(1)),
        importance=Importance.LOW,
        refused=unserved.NO_QUOTAS,
    )

The day the node acts on one of them, its row is cut out and given a name, with what it had in common with the others
but the reason; a table whose middle row goes becomes two:

    QUOTA_WINDOW_NUM = setting(
        "quota.window.num", INT, 11, "...", validator=at_least(1), importance=Importance.LOW
    )
"""

from typing import Any, Unpack

from tidelog.config.setting import Facts, Setting
from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True, frozen=True)
class Table:
    """Settings without a constant of their own, in the order in which people read them."""

    settings: tuple[Setting[Any], ...]


def table(*rows: Setting[Any], **common: Unpack[Facts]) -> Table:
    """Declare settings that are known only, and set the `common` facts of all of them."""
    for row in rows:
        for fact, value in common.items():
            setattr(row, fact, value)
    return Table(rows)
