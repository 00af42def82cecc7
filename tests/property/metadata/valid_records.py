"""Records that may come next: drawn for a state that the twin knows, so that every sequence of them is valid."""

import random
from collections.abc import Callable
from typing import Any

from tests.property.metadata.twin import Plain
from tests.unit.metadata import built

from tidelog.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from tidelog.metadata.records.cluster import FeatureLevelRecord, ProducerIdsRecord
from tidelog.metadata.records.security import (
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
)
from tidelog.metadata.records.topics import ClearElrRecord, PartitionChangeRecord, RemoveTopicRecord

Next = Callable[[random.Random, Plain], Any]


def _replicas(rng: random.Random) -> list[int]:
    return rng.sample(range(6), rng.randint(0, 3))


def _maybe(rng: random.Random, value: Any) -> Any:
    return value if rng.random() < 0.5 else None


def _directories(rng: random.Random, count: int) -> list[Any]:
    return [built.uuid(rng.randrange(200, 206)) for _ in range(count)]


def topic(rng: random.Random, plain: Plain) -> Any:
    used = {each["name"] for each in plain["topics"].values()}
    name = f"topic {rng.randrange(12)}"
    topic_id = 1 + rng.getrandbits(32)
    return None if name in used or built.uuid(topic_id) in plain["topics"] else built.topic(topic_id, name)


def remove_topic(rng: random.Random, plain: Plain) -> Any:
    return RemoveTopicRecord(topic_id=rng.choice([*plain["topics"]])) if plain["topics"] else None


def partition(rng: random.Random, plain: Plain) -> Any:
    if not plain["topics"]:
        return None
    replicas = rng.sample(range(6), rng.randint(1, 3))
    record = built.partition(
        partition_id=rng.randrange(8),
        replicas=replicas,
        isr=_replicas(rng),
        directories=_directories(rng, len(replicas)),
        leader=rng.randint(-1, 5),
        adding_replicas=_replicas(rng),
        removing_replicas=_replicas(rng),
        leader_recovery_state=rng.randrange(2),
        leader_epoch=rng.randrange(9),
        partition_epoch=rng.randrange(9),
        eligible_leader_replicas=_maybe(rng, _replicas(rng)),
        last_known_elr=_maybe(rng, _replicas(rng)),
    )
    record.topic_id = rng.choice([*plain["topics"]])
    return record


def partition_change(rng: random.Random, plain: Plain) -> Any:
    known = [(topic_id, each) for topic_id, topic in plain["topics"].items() for each in topic["partitions"]]
    if not known:
        return None
    topic_id, partition_id = rng.choice(known)
    replicas = rng.sample(range(6), rng.randint(1, 3))
    moves = rng.random() < 0.3
    return PartitionChangeRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=replicas if moves else None,
        directories=_directories(rng, len(replicas)) if moves else None,
        isr=_maybe(rng, _replicas(rng)),
        leader=rng.randint(-2, 5),
        adding_replicas=_maybe(rng, _replicas(rng)),
        removing_replicas=_maybe(rng, _replicas(rng)),
        leader_recovery_state=rng.randint(-1, 1),
        eligible_leader_replicas=_maybe(rng, _replicas(rng)),
        last_known_elr=_maybe(rng, _replicas(rng)),
    )


def clear_elr(rng: random.Random, plain: Plain) -> Any:
    return ClearElrRecord(topic_name=rng.choice(["", *(each["name"] for each in plain["topics"].values())]))


def broker(rng: random.Random, _plain: Plain) -> Any:
    return built.broker(
        rng.randrange(6),
        broker_epoch=rng.randrange(100),
        rack=rng.choice([None, "r1"]),
        fenced=rng.random() < 0.5,
        in_controlled_shutdown=rng.random() < 0.2,
        log_dirs=_directories(rng, rng.randrange(3)),
        cordoned_log_dirs=_maybe(rng, _directories(rng, rng.randrange(2))),
    )


def broker_change(rng: random.Random, plain: Plain) -> Any:
    if not plain["brokers"]:
        return None
    broker_id = rng.choice([*plain["brokers"]])
    epoch = plain["brokers"][broker_id]["epoch"]
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=epoch,
        fenced=rng.randint(-1, 1),
        in_controlled_shutdown=rng.randrange(2),
        log_dirs=_directories(rng, rng.randrange(3)),
        cordoned_log_dirs=_maybe(rng, _directories(rng, rng.randrange(2))),
    )
    fence, unfence = FenceBrokerRecord(id=broker_id, epoch=epoch), UnfenceBrokerRecord(id=broker_id, epoch=epoch)
    return rng.choice([change, change, fence, unfence, UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch)])


def controller(rng: random.Random, _plain: Plain) -> Any:
    return built.controller(rng.randrange(4))


def config(rng: random.Random, plain: Plain) -> Any:
    names = [each["name"] for each in plain["topics"].values()]
    kind, name = rng.choice([(2, name) for name in names] + [(4, ""), (4, "1"), (16, "metrics"), (32, "group")])
    return built.config(kind, name, f"setting.{rng.randrange(4)}", rng.choice([None, "1", "2"]))


def quota(rng: random.Random, _plain: Plain) -> Any:
    parts = rng.sample([("user", rng.choice([None, "alice"])), ("client-id", "c"), ("ip", "::1")], rng.randint(1, 2))
    return built.quota(dict(parts), rng.choice(["a", "b"]), rng.random(), remove=rng.random() < 0.4)


def feature(rng: random.Random, _plain: Plain) -> Any:
    return FeatureLevelRecord(name=rng.choice(["group.version", "share.version"]), feature_level=rng.randrange(3))


def producer_ids(rng: random.Random, plain: Plain) -> Any:
    following = max(plain["next_producer_id"], 0) + 1000 * rng.randrange(3)
    return ProducerIdsRecord(broker_id=rng.randrange(6), broker_epoch=1, next_producer_id=following)


def acl(rng: random.Random, plain: Plain) -> Any:
    if plain["acls"] and rng.random() < 0.4:
        return RemoveAccessControlEntryRecord(id=rng.choice([*plain["acls"]]))
    return built.acl(rng.randrange(9), rng.choice(["User:alice", "User:bob"]))


def scram(rng: random.Random, _plain: Plain) -> Any:
    name, mechanism = rng.choice(["alice", "bob"]), rng.choice([1, 2])
    if rng.random() < 0.4:
        return RemoveUserScramCredentialRecord(name=name, mechanism=mechanism)
    return built.scram(name, mechanism, rng.randrange(4096, 9000))


def token(rng: random.Random, _plain: Plain) -> Any:
    token_id = f"token {rng.randrange(4)}"
    if rng.random() < 0.4:
        return RemoveDelegationTokenRecord(token_id=token_id)
    return built.token(token_id, rng.randrange(900))


# Most records are of topics and partitions.
KINDS: list[Next] = [
    *([topic, partition, partition, partition_change, partition_change] * 2),
    *[remove_topic, clear_elr, broker, broker_change, controller, config, config, quota, feature, producer_ids],
    *[acl, scram, token],
]
