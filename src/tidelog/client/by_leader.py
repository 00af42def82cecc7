"""Questions about partitions go to their leaders: split by leader, asked, and asked again where leadership moved."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, error_code
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.model.ids import TopicPartition

T = TypeVar("T")


class Answer(NamedTuple, Generic[T]):
    """The part of a response that is about one partition."""

    partition: TopicPartition
    code: int
    message: str | None
    value: T


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    grouped: dict[str, list[TopicPartition]] = {}
    for each in partitions:
        grouped.setdefault(each.topic, []).append(each)
    return grouped


def ask_leaders(
    client: Client,
    partitions: Sequence[TopicPartition],
    asked: str,
    build: Callable[[Sequence[TopicPartition]], object],
    read: Callable[[Any], Iterator[Answer[T]]],
) -> dict[TopicPartition, T | ClientError]:
    """Ask the leader of each partition; return an outcome for every partition, in the order in which they were
    named."""
    outcomes: dict[TopicPartition, T | ClientError] = {}
    left = list(dict.fromkeys(partitions))
    backoff, deadline_ms = Backoff(client.world.entropy), client.now_ms() + client.retry_timeout_ms
    while left:
        for leader, listed in _by_leader(client, left, asked, outcomes).items():
            _ask_one(client, leader, listed, asked, build, read, outcomes)
        left = [each for each in left if _is_worth_a_try(outcomes[each])]
        if not left or client.now_ms() >= deadline_ms:
            break
        client.pause(backoff.next_ms())
        client.refresh()
    return {each: outcomes[each] for each in dict.fromkeys(partitions)}


def _by_leader(
    client: Client, partitions: Sequence[TopicPartition], asked: str, outcomes: dict[TopicPartition, Any]
) -> dict[int, list[TopicPartition]]:
    """Group partitions by the node to ask; a partition that has no leader gets its outcome here."""
    grouped: dict[int, list[TopicPartition]] = {}
    for topic_partition in partitions:
        try:
            topic = client.topic(topic_partition.topic)
        except ClientError as error:
            outcomes[topic_partition] = ClientError(error.code, f"{asked} {topic_partition}", error.of, error.message)
            continue
        leader = client.metadata.leader(topic_partition)
        if not 0 <= topic_partition.partition < len(topic.partitions):
            message = f"the topic has {len(topic.partitions)} partition(s)"
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            outcomes[topic_partition] = ClientError(code, f"{asked} {topic_partition}", client.name, message)
        elif leader is None:
            outcomes[topic_partition] = ClientError(
                ErrorCode.LEADER_NOT_AVAILABLE, f"{asked} {topic_partition}", client.name
            )
        else:
            grouped.setdefault(leader, []).append(topic_partition)
    return grouped


def _ask_one(
    client: Client,
    leader: int,
    listed: list[TopicPartition],
    asked: str,
    build: Callable[[Sequence[TopicPartition]], object],
    read: Callable[[Any], Iterator[Answer[T]]],
    outcomes: dict[TopicPartition, T | ClientError],
) -> None:
    of = str(client.metadata.nodes[leader])
    response = client.ask_once(build(listed), asked, leader)
    if isinstance(response, ClientError):
        outcomes.update((each, ClientError(response.code, f"{asked} {each}", of, response.message)) for each in listed)
        return
    silent = ClientError(ErrorCode.UNKNOWN_SERVER_ERROR, asked, of, "the response leaves the partition out")
    outcomes.update(dict.fromkeys(listed, silent))
    for answer in read(response):
        if answer.code:
            refused = ClientError(error_code(answer.code), f"{asked} {answer.partition}", of, answer.message)
            outcomes[answer.partition] = refused
        else:
            outcomes[answer.partition] = answer.value


def _is_worth_a_try(outcome: object) -> bool:
    """Tell whether to ask again. Not for a topic or partition that the metadata do not know either: `Client.topic` has
    waited for it already."""
    if not isinstance(outcome, ClientError) or outcome.code not in RETRIABLE:
        return False
    return outcome.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or outcome.of.startswith("broker")
