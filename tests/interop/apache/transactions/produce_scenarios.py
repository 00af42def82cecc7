"""Transactional batches: which producers may write them, into which partitions, and what the coordinator checks."""

from functools import partial

from tests.interop.apache.transactions.asking import V1, V2, Asking, Versions, batch
from tests.interop.apache.transactions.script import Scenario, Script

PRODUCE_VERSIONS = (8, 10, 11, 12, 13)


def _versions(version: int) -> Versions:
    return (V2 if version >= 12 else V1)._replace(produce=version)


def without_add(script: Script, version: int) -> None:
    asking = Asking(script, _versions(version))
    producer = asking.init(asking.id)
    asking.produce(producer, 0, why="nobody was told before")
    asking.describe(asking.id)
    asking.produce(producer, 0, why="again")
    asking.produce(producer, 5, partition=1, why="a first sequence that is not 0")
    asking.look(asking.id)
    after = asking.end(producer)
    asking.look(asking.id)
    asking.produce(producer, 1, why="as who it was before the end")
    asking.produce(after, 0, why="as who it is")
    asking.look(asking.id)


def with_add(script: Script, version: int) -> None:
    asking = Asking(script, _versions(version))
    producer = asking.init(asking.id)
    asking.add(producer, [0])
    asking.produce(producer, 0, 2)
    asking.produce(producer, 0, 2, why="again")
    asking.produce(producer, 3, why="a gap")
    asking.produce(producer, 2)
    asking.produce(producer, 0, partition=1, why="a partition that was not added")
    asking.describe(asking.id)
    asking.look(asking.id)
    asking.end(producer, commit=False)
    asking.look(asking.id)


def wrong_producers(script: Script, version: int) -> None:
    asking = Asking(script, _versions(version))
    first = asking.init(asking.id)
    producer = asking.init(asking.id)
    asking.add(producer, [0])
    for wrong, why in (
        (first, "an old epoch"),
        (producer.at(producer.epoch + 1), "an epoch to come"),
        (producer._replace(producer_id=producer.producer_id + 1_000_000), "another producer id"),
        (producer._replace(transactional_id="nobody"), "a transactional id that does not exist"),
        (producer._replace(transactional_id=""), "an empty transactional id"),
    ):
        asking.produce(wrong, 0, is_transactional=True, why=why)
    asking.produce(producer, 0, names_id=False, why="no transactional id at all")
    asking.produce(producer, 0, topic="no-such-topic", why="no such topic")
    asking.look(asking.id)
    asking.produce(producer, 0, why="the right one")
    for wrong, why in (
        (first, "an old epoch, while it is open"),
        (producer.at(producer.epoch + 1), "an epoch to come, while it is open"),
        (producer._replace(transactional_id="nobody"), "a transactional id that does not exist, while it is open"),
    ):
        asking.produce(wrong, 1, is_transactional=True, why=why)
    asking.look(asking.id)


def plain_batches_inside(script: Script, version: int) -> None:
    asking = Asking(script, _versions(version))
    producer = asking.init(asking.id)
    asking.produce(producer, 0, is_transactional=False, why="not transactional, before anything is open")
    asking.open(producer, 1)
    asking.produce(producer, 2, is_transactional=False, why="not transactional, while it is open")
    asking.produce(producer, 2, why="transactional")
    asking.produce(producer, 3, is_transactional=False, names_id=False, why="not transactional, and without the id")
    idempotent = asking.init(None)
    asking.produce(idempotent, 0, why="somebody else's, in between")
    asking.look(asking.id)
    asking.end(producer)
    asking.look(asking.id)
    asking.produce(producer, 3, is_transactional=False, why="not transactional, after the end")


def higher_epoch_while_open(script: Script, version: int) -> None:
    """The partition sees an epoch that the coordinator has not given out yet."""
    asking = Asking(script, _versions(version))
    producer = asking.init(asking.id)
    asking.open(producer)
    asking.produce(producer.at(producer.epoch + 1), 0, is_transactional=False, why="a higher epoch, not transactional")
    asking.look(asking.id)
    asking.end(producer, commit=False)
    asking.look(asking.id)


def partition_alone(script: Script, version: int) -> None:
    """A second partition joins the transaction, and each partition counts its own sequence."""
    asking = Asking(script, _versions(version))
    producer = asking.init(asking.id)
    asking.open(producer, partition=0)
    asking.open(producer, partition=1)
    asking.produce(producer, 1, partition=1)
    asking.describe(asking.id)
    after = asking.end(producer)
    sequence = 0 if after.epoch > producer.epoch else 2
    asking.open(after, sequence, partition=1)
    asking.end(after, commit=False)
    asking.look(asking.id)


def several_at_once(script: Script, version: int) -> None:
    """Requests carry more than one partition, producer, or kind of batch."""
    asking = Asking(script, _versions(version))
    one, other = asking.init(asking.id), asking.init(f"{asking.id}-other")
    if not asking.versions.is_v2:
        asking.add(one, [0])
    mine = batch(one, 0)
    plain = batch(one, 0, is_transactional=False)
    asking.produce_raw(asking.id, [(None, 0, mine), (None, 1, batch(other, 0))], why="two producers in one request")
    asking.produce_raw(asking.id, [(None, 0, mine), (None, 1, plain)], why="one transactional, one not")
    asking.produce_raw(asking.id, [(None, 0, batch(one, 1)), (None, 1, batch(one, 1))], why="both partitions")
    asking.produce_raw(asking.id, [(None, 0, batch(one, 2)), ("no-such-topic", 0, batch(one, 0))], why="one unknown")
    asking.produce_raw(asking.id, [(None, 0, batch(one, 3)), (None, 5, batch(one, 0))], why="no such partition")
    asking.look(asking.id, f"{asking.id}-other")
    asking.end(one, commit=False)
    asking.look(asking.id)


def topic_deleted(script: Script, version: int) -> None:
    asking = Asking(script, _versions(version))
    producer = asking.init(asking.id)
    asking.open(producer)
    asking.delete_topic()
    asking.describe(asking.id)
    asking.produce(producer, 1, why="its topic is gone")
    after = asking.end(producer)
    asking.describe(asking.id)
    asking.end(after, commit=False)
    asking.describe(asking.id)


SCENARIOS: dict[str, Scenario] = {
    f"{name}-v{version}": partial(scenario, version=version)
    for version in PRODUCE_VERSIONS
    for name, scenario in (
        ("without-add", without_add),
        ("with-add", with_add),
        ("wrong-producer", wrong_producers),
        ("plain-inside", plain_batches_inside),
        ("higher-epoch", higher_epoch_while_open),
        ("partitions", partition_alone),
        ("several", several_at_once),
        ("deleted", topic_deleted),
    )
}
