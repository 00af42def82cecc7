"""The APIs that only ask: when the client has left, nobody needs the answer, and the request may be abandoned.

Any other request that has arrived whole is carried out, as in Apache Kafka, although nobody is there to hear of it: a
consumer that commits its offsets and ends, a producer that ends a transaction, an operator's tool that is interrupted.

Metadata and FindCoordinator may create a topic on the way; they create it for the one who asks. A fetch is not among
them, since it holds ranges of files, which it gives back at its end.
"""

from typing import Final

from tidelog.protocol.api import ApiKey

QUESTIONS: Final = frozenset(
    {
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
        ApiKey.API_VERSIONS,
        ApiKey.FIND_COORDINATOR,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.LIST_CONFIG_RESOURCES,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
