"""How many array elements a request may have: beyond that it is refused before they are built (ADR 15).

Every entry of every array counts, nested ones too, and so does every tagged field. A request for what one broker has of
a cluster with a million partitions stays far below: brokers have tens of thousands of partitions, not hundreds.

Requests that are one decision, or one wait, are not cut into slices all the way: the batches of a produce are answered
together, a group's offsets are one append, and so are the partitions that a transaction is told of. Those take 10,000
partitions under as many topics. Apache Kafka bounds them as well, by the size of one batch of `__consumer_offsets` and
by 10,000 records for an operation of its controller.
"""

from typing import Final

from tidelog.protocol.api import ApiKey

ELEMENTS_MAX: Final = 90_000
DECISION_ELEMENTS_MAX: Final = 20_000
PRODUCE_ELEMENTS_MAX: Final = 10_000  # as many batches as a producer's request of a megabyte can have
# A request up to so many bytes is decoded and handled in one go: an element takes a byte at least.
WHOLE_BYTES_MAX: Final = 2_048
# And so is a larger one that has no more elements than this.
WHOLE_ELEMENTS_MAX: Final = 1_024

_ANSWERED_ONE_BY_ONE: Final = frozenset(
    {
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DELETE_RECORDS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_PRODUCERS,
        # 10,000 partitions with the brokers of each; the controller's machine has slices of its own.
        ApiKey.CREATE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
    }
)


def elements_max_of(api_key: int) -> int:
    if api_key == ApiKey.PRODUCE:
        return PRODUCE_ELEMENTS_MAX
    return ELEMENTS_MAX if api_key in _ANSWERED_ONE_BY_ONE else DECISION_ELEMENTS_MAX
