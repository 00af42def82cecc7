"""Requests that ask the same of each partition: answered one by one, in the order in which they name them."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from tidelog.server.requests.handler import Steps

R = TypeVar("R", bound="HasTopics")
A = TypeVar("A", bound="HasPartitions")


class HasPartitions(Protocol):
    partitions: Any


class HasTopics(Protocol):
    topics: Any


def answer_each(
    response: R, topics: Iterable[Any], named: Callable[[Any], A], answer: Callable[[Any, Any], object]
) -> Steps[R]:
    """Fill the response: `named` makes the answer of a topic without its partitions, `answer` that of a partition of a
    topic. Gives way after each."""
    for topic in topics:
        answered = named(topic)
        response.topics.append(answered)
        yield
        for each in topic.partitions:
            answered.partitions.append(answer(topic, each))
            yield
    return response
