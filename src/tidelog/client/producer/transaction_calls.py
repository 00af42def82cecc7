"""What a transaction's coordinator is asked, by a producer or by whoever ends a transaction for it.

Protocol 2 (KIP-890, `transaction.version` 2) is spoken where the cluster has agreed on it: a partition or a group's
offsets enter the transaction with the first write, and every end moves the epoch, so that a request that comes late
from one transaction can never hit the next. With older clusters each is announced first, and the epoch stays.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tidelog.client.admin.group_offsets import CommittedOffset, Offsets
from tidelog.client.by_leader import by_topic
from tidelog.client.client import WAIT_MS_MAX, Client
from tidelog.client.connection import SOFTWARE_NAME, SOFTWARE_VERSION
from tidelog.client.coordinators import CoordinatorClient, passing
from tidelog.client.errors import ClientError, error_code
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.ids import NO_PRODUCER_ID, TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

FEATURE: Final = "transaction.version"
PROTOCOL_2: Final = 2
NO_IDENTITY: Final = ProducerIdAndEpoch(NO_PRODUCER_ID, -1)
# The last versions of protocol 1: from the next version on a request means protocol 2 (or that a broker asks).
OLD_ADD_PARTITIONS: Final = 3
OLD_END_TXN: Final = 4
OLD_TXN_OFFSET_COMMIT: Final = 4
OLD_PRODUCE: Final = 11
TWO_PHASE_INIT: Final = 6  # not stable in Kafka yet, so it is used only where two_phase asks for it
_NEEDED: Final = frozenset(
    (ApiKey.INIT_PRODUCER_ID, ApiKey.END_TXN, ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS)
)


class GroupMetadata(NamedTuple):
    """The member on whose behalf offsets are committed: lets the coordinator fence one whose partitions went to another
    member."""

    group_id: str
    generation: int = -1  # or member epoch
    member_id: str = ""
    instance_id: str | None = None


def speaks_protocol_2(client: Client) -> bool:
    """Tell whether the cluster has agreed on protocol 2. Any broker knows, so the coordinator need not be alive."""
    asked = "ask which transaction protocol is in use"
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
    found = client.ask(request, asked)
    levels = {each.name: each.max_version_level for each in found.finalized_features}
    return bool(levels.get(FEATURE, 0) >= PROTOCOL_2)


def offers_transactions(client: Client) -> bool:
    """Tell whether a broker serves all requests for a transaction that somebody other than its producer ends."""
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
    found = client.ask(request, "ask which requests are served")
    return {each.api_key for each in found.api_keys} >= _NEEDED


def init_producer_id(
    client: Client,
    transactions: CoordinatorClient,
    transactional_id: str,
    timeout_ms: int,
    former: ProducerIdAndEpoch = NO_IDENTITY,
    *,
    two_phase: bool = False,
) -> ProducerIdAndEpoch:
    """Return the next producer id and epoch of a transactional id. `former`: a producer that only wants its next epoch
    says which one it has, and is refused if another has taken over. `two_phase`: transactions never time out (KIP-939);
    not every broker knows it, and few allow it."""
    asked = f"begin as transactional id {transactional_id}"
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=former.producer_id,
        producer_epoch=former.producer_epoch,
        enable_2pc=two_phase,
    )
    version_max = TWO_PHASE_INIT if two_phase else None
    found = transactions.ask(transactional_id, request, asked, lambda each: each.error_code, version_max=version_max)
    _require(found.error_code, asked, client)
    return ProducerIdAndEpoch(found.producer_id, found.producer_epoch)


def end_transaction(
    client: Client,
    transactions: CoordinatorClient,
    transactional_id: str,
    identity: ProducerIdAndEpoch,
    *,
    commit: bool,
    is_protocol_2: bool | None = None,
) -> ProducerIdAndEpoch:
    """Commit or abort; return the producer id and epoch with which the next transaction begins."""
    if is_protocol_2 is None:
        is_protocol_2 = speaks_protocol_2(client)
    asked = f"{'commit' if commit else 'abort'} the transaction of {transactional_id}"
    request = _end_request(transactional_id, identity, commit)
    version_max = None if is_protocol_2 else OLD_END_TXN
    found = transactions.ask(transactional_id, request, asked, lambda each: each.error_code, version_max=version_max)
    _require(found.error_code, asked, client)
    return identity if found.producer_id < 0 else ProducerIdAndEpoch(found.producer_id, found.producer_epoch)


def end_together(
    client: Client, transactions: CoordinatorClient, identities: Mapping[str, ProducerIdAndEpoch], *, commit: bool
) -> list[str]:
    """End many transactions, all requests in flight at once; return the transactional ids of those that were ended.
    Call `end_transaction` for each of the others, to find out what is wrong with it."""
    if not identities:
        return []
    ended: list[str] = []
    answers: list[str] = []
    version_max = None if speaks_protocol_2(client) else OLD_END_TXN
    sent = 0
    for name, node_id in transactions.find_all(identities).items():
        if isinstance(node_id, ClientError):
            continue

        def done(outcome: EndTxnResponse | ClientError, name: str = name) -> None:
            answers.append(name)
            if not isinstance(outcome, ClientError) and not outcome.error_code:
                ended.append(name)

        client.send(node_id, _end_request(name, identities[name], commit), done, version_max=version_max)
        sent += 1
    while len(answers) < sent:
        client.poll(WAIT_MS_MAX)
    return ended


def _end_request(transactional_id: str, identity: ProducerIdAndEpoch, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        committed=commit,
    )


def add_partitions(
    client: Client,
    transactions: CoordinatorClient,
    transactional_id: str,
    identity: ProducerIdAndEpoch,
    partitions: Iterable[TopicPartition],
) -> None:
    """Announce the partitions that the transaction will write to. Protocol 1 only."""
    listed = by_topic(partitions).items()
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[p.partition for p in of]) for name, of in listed
        ],
    )
    asked = f"add partitions to the transaction of {transactional_id}"
    found = transactions.ask(
        transactional_id,
        request,
        asked,
        lambda each: passing(
            p.partition_error_code for t in each.results_by_topic_v3_and_below for p in t.results_by_partition
        ),
        version_max=OLD_ADD_PARTITIONS,
    )
    for topic in found.results_by_topic_v3_and_below:
        for each in topic.results_by_partition:
            _require(each.partition_error_code, f"{asked}: {topic.name}-{each.partition_index}", client)


def add_offsets(
    client: Client, transactions: CoordinatorClient, transactional_id: str, identity: ProducerIdAndEpoch, group_id: str
) -> None:
    """Announce that the transaction will commit offsets of the group. Protocol 1 only."""
    asked = f"add the offsets of group {group_id} to the transaction of {transactional_id}"
    request = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        group_id=group_id,
    )
    found = transactions.ask(transactional_id, request, asked, lambda each: each.error_code)
    _require(found.error_code, asked, client)


def commit_in_transaction(
    client: Client,
    groups: CoordinatorClient,
    transactional_id: str,
    identity: ProducerIdAndEpoch,
    offsets: Offsets,
    group: GroupMetadata,
    *,
    is_protocol_2: bool,
) -> None:
    """Commit the group's offsets as part of the transaction: they count when, and if, it is committed."""
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        generation_id=group.generation,
        member_id=group.member_id,
        group_instance_id=group.instance_id,
        topics=[
            TxnOffsetCommitRequestTopic(name=topic, partitions=[_offset(p, offsets[p]) for p in listed])
            for topic, listed in by_topic(offsets).items()
        ],
    )
    asked = f"commit offsets of group {group.group_id} in the transaction of {transactional_id}"
    version_max = None if is_protocol_2 else OLD_TXN_OFFSET_COMMIT
    found = groups.ask(group.group_id, request, asked, _txn_offset_code, version_max=version_max)
    for topic in found.topics:
        for each in topic.partitions:
            _require(each.error_code, f"{asked}: {topic.name}-{each.partition_index}", client)


def _offset(topic_partition: TopicPartition, offset: int | CommittedOffset) -> TxnOffsetCommitRequestPartition:
    given = CommittedOffset(offset) if isinstance(offset, int) else offset
    return TxnOffsetCommitRequestPartition(
        partition_index=topic_partition.partition,
        committed_offset=given.offset,
        committed_leader_epoch=given.leader_epoch,
        committed_metadata=given.metadata,
    )


def _txn_offset_code(response: TxnOffsetCommitResponse) -> int:
    return passing(each.error_code for topic in response.topics for each in topic.partitions)


def _require(code: int, asked: str, client: Client) -> None:
    if code:
        raise ClientError(error_code(code), asked, client.name)
