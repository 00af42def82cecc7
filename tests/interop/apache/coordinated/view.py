"""All that can be seen of groups, offsets, transactions and producers, in plain values: two brokers that opened the
same directory must show the same, ids and times included."""

from typing import Any

from tests.support.blocking_connection import BlockingConnection
from tests.support.message_values import carried_values

from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

INTERNAL = ("__consumer_offsets", "__transaction_state")
READ_COMMITTED = 1


def view(wire: BlockingConnection, topic: str, groups: list[str], transactional_ids: list[str]) -> dict[str, Any]:
    listed = wire.ask(ListGroupsRequest(), 5).groups
    of_type = {kind: [each.group_id for each in listed if each.group_type == kind] for kind in ("classic", "consumer")}
    everything = {
        "listed groups": (wire.ask(ListGroupsRequest(), 5), 5),
        "classic groups": (wire.ask(DescribeGroupsRequest(groups=[*of_type["classic"], "nobody"]), 6), 6),
        "consumer groups": (
            wire.ask(
                ConsumerGroupDescribeRequest(group_ids=of_type["consumer"], include_authorized_operations=False), 1
            ),
            1,
        ),
        "offsets": (wire.ask(_offsets_of(groups, require_stable=False), 9), 9),
        "stable offsets": (wire.ask(_offsets_of(groups, require_stable=True), 9), 9),
        "listed transactions": (wire.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[]), 2), 2),
        "transactions": (wire.ask(DescribeTransactionsRequest(transactional_ids=transactional_ids), 0), 0),
        "producers": (wire.ask(_producers_of(topic), 0), 0),
        "committed records": (wire.ask(_fetch(topic), 12), 12),
    }
    return {name: _sorted(carried_values(answer, version)) for name, (answer, version) in everything.items()}


def _offsets_of(groups: list[str], *, require_stable: bool) -> OffsetFetchRequest:
    wanted = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in groups]
    return OffsetFetchRequest(groups=wanted, require_stable=require_stable)


def _producers_of(topic: str) -> DescribeProducersRequest:
    return DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0, 1])])


def _fetch(topic: str) -> FetchRequest:
    wanted = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in (0, 1)]
    topics = [FetchTopic(topic=topic, partitions=wanted)]
    return FetchRequest(max_wait_ms=0, min_bytes=0, isolation_level=READ_COMMITTED, topics=topics)


def _sorted(value: Any) -> Any:
    """Return the value with its lists sorted and without error messages: these lists have no order, and each broker
    words errors its own way."""
    if isinstance(value, dict):
        return {name: _sorted(each) for name, each in value.items() if name != "error_message"}
    return sorted((_sorted(each) for each in value), key=repr) if isinstance(value, list) else value
