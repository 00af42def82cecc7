"""The cluster as the driver sees it: its partitions, where their logs begin and end, and which offset has a given time.

One client is kept open for as long as the view is, because a streaming query asks at every trigger. Metadata are asked
for in bulk, once a round: one request for ten thousand partitions, not ten thousand requests. The view pickles without
its client: Spark sends readers to workers, and a worker connects a client of its own when it needs one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark_tidelog.kafka.first_contact import note_reached, was_reached
from pyspark_tidelog.kafka.offsets import EARLIEST, LATEST, OFFSET_MAX, Offsets
from pyspark_tidelog.kafka.retries import LOGGER, Retries
from pyspark_tidelog.kafka.settings import ClusterOptions
from pyspark_tidelog.sink.ledger_topic import INTERNAL_PREFIX
from pyspark_tidelog.source.options import Assign, Subscribe, SubscribePattern, Subscription
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, error_code
from tidelog.client.fetch.fetch_ahead import KnownLeader
from tidelog.client.metadata import TopicMetadata
from tidelog.client.offsets import FoundOffset, list_offsets
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

# A broker that has just started, or that lags behind, does not know every topic yet. Only a topic that is missing for
# this long counts as deleted: one that counts as deleted by mistake would be read all over again.
MISSING_PATIENCE_MS: Final = 2_000
BEHIND_LOOKS: Final = 3
BEHIND_PAUSE_MS: Final = 300
NOT_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(slots=True)
class Found:
    """The topics and partitions that a subscription matches at the moment."""

    topic_partitions: list[TopicPartition] = field(default_factory=list)  # sorted
    topic_ids: dict[str, Uuid] = field(default_factory=dict)  # another id: the topic was deleted and made anew
    missing: list[str] = field(default_factory=list)  # topics that were named or expected, and do not exist


class ClusterView:
    def __init__(self, cluster: ClusterOptions, *, read_committed: bool = False) -> None:
        """`read_committed`: the end of a log is its last stable offset."""
        self.cluster = cluster
        self._read_committed = read_committed
        self._client: Client | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}

    # Partitions

    def topic_partitions(self, subscription: Subscription) -> list[TopicPartition]:
        """Return the partitions that a subscription matches; ClientError as of `find_all`."""
        return self.find_all(subscription).topic_partitions

    def find_all(self, subscription: Subscription) -> Found:
        """Return what `find` does; ClientError where a topic or partition that is named does not exist."""
        found = self.find(subscription)
        if found.missing:
            raise self._unknown("topic", found.missing)
        if isinstance(subscription, Assign) and (
            gone := sorted({*subscription.topic_partitions} - {*found.topic_partitions})
        ):
            raise self._unknown("partition", gone)
        return found

    def find(self, subscription: Subscription, expected: Iterable[str] | None = None) -> Found:
        """Return the topics and partitions that a subscription matches. `expected`: topics that existed before and are
        waited for up to MISSING_PATIENCE_MS; without it, those that the subscription names."""
        named = _named(subscription)
        awaited = frozenset(named if expected is None else expected)
        wanted = sorted({*named, *awaited})
        client = self._connected()
        give_up_ms = client.now_ms() + MISSING_PATIENCE_MS
        retries = Retries(client, "find the topics")
        while True:
            self._ask_metadata(None if isinstance(subscription, SubscribePattern) else wanted, retries)
            missing = [name for name in wanted if name not in client.metadata.topics]
            if awaited.isdisjoint(missing) or client.now_ms() >= give_up_ms:
                return self._found(subscription, missing)
            self._check_errors(missing)
            client.pause(100)

    def _found(self, subscription: Subscription, missing: list[str]) -> Found:
        topics = self._connected().metadata.topics
        if isinstance(subscription, SubscribePattern):  # a pattern never matches internal topics, Kafka's or ours
            names = sorted(name for name in topics if not _is_internal(topics[name]) and subscription.matches(name))
        else:
            names = sorted({name for name in _named(subscription) if name in topics})
        topic_partitions = [
            TopicPartition(name, index) for name in names for index in range(len(topics[name].partitions))
        ]
        if isinstance(subscription, Assign):
            there = frozenset(topic_partitions)
            topic_partitions = sorted(
                {topic_partition for topic_partition in subscription.topic_partitions if topic_partition in there}
            )
        return Found(topic_partitions, {name: topics[name].topic_id for name in names}, missing)

    def _check_errors(self, missing: Iterable[str]) -> None:
        """Raise the error of a missing topic that waiting does not help: no right to see it, or a name that no topic
        can have."""
        for name in missing:
            code = self._connected().metadata.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            error = ClientError(code, f"find topic {name}", self._connected().name)
            if not error.is_retriable and code not in NOT_THERE:
                raise error

    def _unknown(self, what: str, missing: Iterable[object]) -> ClientError:
        asked = f"find {what} {', '.join(map(str, missing))}"
        return ClientError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, asked, self._connected().name)

    def _ask_metadata(self, names: Iterable[str] | None, retries: Retries) -> None:
        """Update the client's metadata of these topics, or of all topics (None)."""
        client = self._connected()
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        while True:
            response = client.ask_once(request, "find the topics")
            if not isinstance(response, ClientError) and not response.error_code:
                break
            if not isinstance(response, ClientError):
                response = ClientError(error_code(response.error_code), "find the topics", client.name)
            retries.wait(response)
        client.metadata.update(response, is_whole=names is None)

    def leader(self, topic_partition: TopicPartition) -> KnownLeader | None:
        """Return the leader of a partition by the metadata that the client has; no request is sent."""
        client = self._connected()
        found = client.metadata.partition(topic_partition)
        node = None if found is None else client.metadata.nodes.get(found.leader)
        if found is None or node is None:
            return None
        return KnownLeader(node, found.leader_epoch, client.served(node.id, ApiKey.FETCH))

    # Offsets

    def earliest(self, topic_partitions: Iterable[TopicPartition]) -> Offsets:
        """Return the first offset of each log; partitions that are gone are left out."""
        return self._offsets(dict.fromkeys(topic_partitions, EARLIEST), "find where logs begin")

    def latest(
        self, topic_partitions: Iterable[TopicPartition], known: Mapping[TopicPartition, int] | None = None
    ) -> Offsets:
        """Return the end offset of each log; partitions that are gone are left out. `known`: offsets that the logs had
        before. A log that ends before its known offset is asked again, because a new leader may be behind for a
        moment."""
        doing = "find where logs end"
        found = self._offsets(dict.fromkeys(topic_partitions, LATEST), doing)
        for _ in range(BEHIND_LOOKS if known else 0):
            behind = [
                topic_partition
                for topic_partition in known or ()
                if found.get(topic_partition, OFFSET_MAX) < (known or {})[topic_partition]
            ]
            if not behind:
                break
            LOGGER.warning(
                "%s: %s ends at %d, and it had got further; looking again", doing, behind[0], found[behind[0]]
            )
            self._connected().pause(BEHIND_PAUSE_MS)
            found |= self._offsets(dict.fromkeys(behind, LATEST), doing)
        return found

    def at_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return for each partition the first offset whose record is not older than the time (milliseconds); None where
        all records are older."""
        found = self._offsets(times, "find the offsets of times")
        return {topic_partition: offset if offset >= 0 else None for topic_partition, offset in found.items()}

    def _offsets(self, wanted: Mapping[TopicPartition, int], doing: str) -> Offsets:
        found: Offsets = {}
        left = dict(wanted)
        client = self._connected()
        retries = Retries(client, doing)
        give_up_ms = client.now_ms() + MISSING_PATIENCE_MS
        if any(topic_partition.topic not in client.metadata.topics for topic_partition in left):
            self._ask_metadata(sorted({topic_partition.topic for topic_partition in left}), retries)
        while left:
            error = self._one_round(left, found)
            left = {topic_partition: time for topic_partition, time in left.items() if topic_partition not in found}
            if error is None:
                continue
            if error.code in NOT_THERE and client.now_ms() >= give_up_ms:
                return found
            retries.wait(error)
            self._ask_metadata(sorted({topic_partition.topic for topic_partition in left}), retries)
        return {topic_partition: found[topic_partition] for topic_partition in wanted}

    def _one_round(self, wanted: Mapping[TopicPartition, int], found: Offsets) -> ClientError | None:
        """Ask each leader once, and add the offsets to `found`. Return an error to wait for, or None: the error of a
        partition that exists is preferred to that of one that may be gone."""
        find = self._connected().metadata.partition
        known = {topic_partition: time for topic_partition, time in wanted.items() if find(topic_partition) is not None}
        unknown = (
            None
            if len(known) == len(wanted)
            else next(topic_partition for topic_partition in wanted if topic_partition not in known)
        )
        error = None if unknown is None else self._unknown("partition", [unknown])
        for topic_partition, outcome in self._ask_leaders(known).items():
            if isinstance(outcome, FoundOffset):
                found[topic_partition] = outcome.offset
            elif error is None or error.code in NOT_THERE:
                error = outcome
        return error

    def _ask_leaders(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, FoundOffset | ClientError]:
        """Ask each leader once, without the client's own retries: `_offsets` asks for the metadata in bulk between two
        tries, which the client would not do."""
        client = self._connected()
        patience_ms, client.retry_timeout_ms = client.retry_timeout_ms, 0
        try:
            return list_offsets(client, wanted, read_committed=self._read_committed)
        finally:
            client.retry_timeout_ms = patience_ms

    # The client

    def _connected(self) -> Client:
        if self._client is None:
            client = self.cluster.connect(is_patient=was_reached(self.cluster.bootstrap))
            try:
                client.refresh()  # at first contact this fails soon, and in words, where no broker answers
            except ClientError:
                client.close()
                raise
            note_reached(self.cluster.bootstrap)
            self._client = client
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _is_internal(topic: TopicMetadata) -> bool:
    return topic.is_internal or topic.name.startswith(INTERNAL_PREFIX)


def _named(subscription: Subscription) -> list[str]:
    match subscription:
        case Subscribe(topics):
            return list(topics)
        case Assign(topic_partitions):
            return [topic_partition.topic for topic_partition in topic_partitions]
        case _:
            return []
