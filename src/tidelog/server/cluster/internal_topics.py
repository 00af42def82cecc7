"""Topics that the cluster keeps for itself, and how they come to be: when somebody first needs them.

They are made through the controller with settings of their own, not a topic's defaults. Nobody waits for that: who
asked is told that there is no coordinator yet, and asks again.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tidelog.config import BrokerConfig
from tidelog.config.settings import groups, transactions
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
_INTERNAL: Final = (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE)
CREATE_TIMEOUT_MS: Final = 30_000

Wanted: TypeAlias = tuple[int, int, Mapping[str, object]]  # partitions, replicas, settings


def is_internal(topic: str) -> bool:
    return topic in _INTERNAL


class InternalTopics:
    """Asks the controller for internal topics that are missing, each at most once at a time."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._asked: dict[str, None] = {}  # the controller was asked for these, and has not answered

    def create(self, topic: str) -> None:
        """Ask the controller to create the topic, except for that of share groups: there is no coordinator that would
        write to it."""
        if topic in self._asked or topic not in _WANTED:
            return
        self._asked[topic] = None
        request = CreateTopicsRequest(topics=[creatable(self._broker.config, topic)], timeout_ms=CREATE_TIMEOUT_MS)
        self._broker.ask_controller(request, lambda answer: self._answered(topic, answer))

    def _answered(self, topic: str, answer: Any) -> None:
        del self._asked[topic]
        if isinstance(answer, ErrorCode | ApiError):
            return  # the controller is elsewhere, or on its way: whoever asks next asks again
        assert isinstance(answer, CreateTopicsResponse)
        for result in answer.topics:
            if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                reason = result.error_message or ErrorCode(result.error_code).name
                self._broker.events.internal_topic_refused(topic, reason)


def creatable(config: BrokerConfig, topic: str) -> CreatableTopic:
    """Return the request for an internal topic, with the partitions, replicas and settings that Kafka gives it."""
    count, factor, settings = _WANTED[topic](config)
    return CreatableTopic(
        name=topic,
        num_partitions=count,
        replication_factor=factor,
        assignments=[],
        configs=[CreatableTopicConfig(name=name, value=str(value)) for name, value in settings.items()],
    )


def _consumer_offsets(config: BrokerConfig) -> Wanted:
    settings = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": config.get(groups.OFFSETS_TOPIC_SEGMENT_BYTES),
    }
    return (
        config.get(groups.OFFSETS_TOPIC_NUM_PARTITIONS),
        config.get(groups.OFFSETS_TOPIC_REPLICATION_FACTOR),
        settings,
    )


def _transaction_state(config: BrokerConfig) -> Wanted:
    settings = {
        "unclean.leader.election.enable": "false",
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": config.get(transactions.TRANSACTION_STATE_LOG_MIN_ISR),
        "segment.bytes": config.get(transactions.TRANSACTION_STATE_LOG_SEGMENT_BYTES),
    }
    return (
        config.get(transactions.TRANSACTION_STATE_LOG_NUM_PARTITIONS),
        config.get(transactions.TRANSACTION_STATE_LOG_REPLICATION_FACTOR),
        settings,
    )


_WANTED: Final[dict[str, Callable[[BrokerConfig], Wanted]]] = {
    CONSUMER_OFFSETS: _consumer_offsets,
    TRANSACTION_STATE: _transaction_state,
}
