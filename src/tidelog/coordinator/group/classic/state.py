"""The states of a classic group, by the names that tools show, and which may follow which.

    Empty <-> PreparingRebalance -> CompletingRebalance -> Stable
                     ^---------------------'-----------------'          any -> Dead

Empty has no members (some may have been given an id and not joined with it yet). PreparingRebalance waits for everyone
to join, CompletingRebalance for the leader's assignment. Dead is a group that was deleted.
"""

from enum import Enum
from typing import Final


class ClassicState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


PREVIOUS: Final[dict[ClassicState, tuple[ClassicState, ...]]] = {
    ClassicState.EMPTY: (ClassicState.PREPARING_REBALANCE,),
    ClassicState.PREPARING_REBALANCE: (
        ClassicState.STABLE,
        ClassicState.COMPLETING_REBALANCE,
        ClassicState.EMPTY,
    ),
    ClassicState.COMPLETING_REBALANCE: (ClassicState.PREPARING_REBALANCE,),
    ClassicState.STABLE: (ClassicState.COMPLETING_REBALANCE,),
    ClassicState.DEAD: tuple(ClassicState),
}
