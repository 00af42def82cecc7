"""The states of a transactional id, and which may follow which.

    EMPTY ----add---> ONGOING ---commit---> PREPARE_COMMIT --markers written--> COMPLETE_COMMIT --+
      ^  ^               |                                                                        |
      |  |               +--abort, timeout, another init--> PREPARE_ABORT --> COMPLETE_ABORT -----+
      |  |                                                     ^                                  |
      |  +--init (from any that is at rest)                    +--abort of nothing (version 2)----+ add -> ONGOING
      +-----------------------------------------------------------------------------------init ---+

A PREPARE_* record is the decision: once it is committed the outcome never changes, and every partition of the
transaction gets its marker, however often the coordinator falls over in between. DEAD and PREPARE_EPOCH_FENCE are
Kafka's names for what it holds in memory between a decision and its record; they are never written.
"""

from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """The state of a transactional id, by the numbers that records have."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


_S = TransactionState

AT_REST: Final = (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)  # no transaction is open; an unused id may expire
PREPARED: Final = (_S.PREPARE_COMMIT, _S.PREPARE_ABORT)

PREVIOUS_STATES: Final[dict[TransactionState, tuple[TransactionState, ...]]] = {
    _S.EMPTY: AT_REST,
    _S.ONGOING: (_S.ONGOING, *AT_REST),
    _S.PREPARE_COMMIT: (_S.ONGOING,),
    _S.PREPARE_ABORT: (_S.ONGOING, *AT_REST),
    _S.COMPLETE_COMMIT: (_S.PREPARE_COMMIT,),
    _S.COMPLETE_ABORT: (_S.PREPARE_ABORT,),
}

# As DescribeTransactions and ListTransactions name them.
STATE_NAMES: Final[dict[TransactionState, str]] = {
    _S.EMPTY: "Empty",
    _S.ONGOING: "Ongoing",
    _S.PREPARE_COMMIT: "PrepareCommit",
    _S.PREPARE_ABORT: "PrepareAbort",
    _S.COMPLETE_COMMIT: "CompleteCommit",
    _S.COMPLETE_ABORT: "CompleteAbort",
    _S.DEAD: "Dead",
    _S.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
STATES_BY_NAME: Final = {name: state for state, name in STATE_NAMES.items()}
