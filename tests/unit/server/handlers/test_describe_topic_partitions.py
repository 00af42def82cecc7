"""DescribeTopicPartitions: pages, cursors, and invalid requests."""

from typing import Any

import pytest
from tests.support.serving import create

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tidelog.sim.node_world import SimClient


def ask(client: SimClient, names: list[str], limit: int = 2_000, cursor: tuple[str, int] | None = None) -> Any:
    at = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
    topics = [TopicRequest(name=name) for name in names]
    request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=at)
    return client.ask(request, 0)


def page(response: Any) -> list[tuple[str, list[int]]]:
    return [(each.name, [one.partition_index for one in each.partitions]) for each in response.topics]


def test_topics_come_by_name_with_all_that_is_known(client: SimClient, topic: str) -> None:
    ids = {name: create(client, name, partitions=2) for name in (f"{topic}-b", f"{topic}-a")}
    response = ask(client, [f"{topic}-b", f"{topic}-a", f"{topic}-b"])
    assert page(response) == [(f"{topic}-a", [0, 1]), (f"{topic}-b", [0, 1])]
    assert [bytes(each.topic_id) for each in response.topics] == [ids[f"{topic}-a"], ids[f"{topic}-b"]]
    one = response.topics[0].partitions[0]
    assert (one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes) == (1, 0, [1], [1])
    assert (one.offline_replicas, one.eligible_leader_replicas, one.last_known_elr) == ([], [], [])
    assert response.next_cursor is None


def test_page_after_page_everything_comes_once(client: SimClient, topic: str) -> None:
    names = [f"{topic}-{letter}" for letter in "abc"]
    for name in names:
        create(client, name, partitions=3)
    cursor, seen, pages = None, [], 0
    while True:
        response = ask(client, names, 2, cursor)
        seen += [(name, index) for name, indexes in page(response) for index in indexes]
        pages += 1
        if response.next_cursor is None:
            break
        cursor = (response.next_cursor.topic_name, response.next_cursor.partition_index)
    assert seen == [(name, index) for name in names for index in range(3)]
    assert pages == 5


def test_a_page_that_ends_with_a_topic_points_to_the_next_whether_it_exists_or_not(
    client: SimClient, topic: str
) -> None:
    create(client, topic, partitions=2)
    response = ask(client, [topic, f"{topic}-absent"], limit=2)
    assert page(response) == [(topic, [0, 1])]
    cursor = response.next_cursor
    assert (cursor.topic_name, cursor.partition_index) == (f"{topic}-absent", 0)


def test_all_topics_from_a_cursor_on(client: SimClient, topic: str) -> None:
    create(client, f"zz-{topic}", partitions=2)
    response = ask(client, [], cursor=(f"zz-{topic}", 1))
    assert page(response)[0] == (f"zz-{topic}", [1])


def test_topics_that_there_are_not(client: SimClient, topic: str) -> None:
    found = ask(client, [topic, "no good name"]).topics
    codes = {each.name: each.error_code for each in found}
    assert codes == {
        topic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "no good name": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }


@pytest.mark.parametrize("limit", [0, -5])
def test_at_least_one_partition_comes(client: SimClient, topic: str, limit: int) -> None:
    create(client, topic, partitions=2)
    assert page(ask(client, [topic], limit)) == [(topic, [0])]


@pytest.mark.parametrize("cursor", [("other", 0), ("", -1)])
def test_cursors_that_can_not_be(client: SimClient, topic: str, cursor: tuple[str, int]) -> None:
    create(client, topic)
    response = ask(client, [topic], cursor=(cursor[0] or topic, cursor[1]))
    assert [each.error_code for each in response.topics] == [ErrorCode.INVALID_REQUEST]
