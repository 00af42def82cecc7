"""AddPartitionsToTxn, EndTxn and fencing, in each state of a transactional id."""

from functools import partial

from tests.interop.apache.transactions.asking import V1, V2, Asking, Producer, Versions
from tests.interop.apache.transactions.script import Scenario, Script


def adds(script: Script, version: int) -> None:
    """A client sends AddPartitionsToTxn: versions 0 to 3."""
    asking = Asking(script, V1._replace(add_partitions=version))
    nobody = Producer("nobody", 4_000, 0)
    asking.add(nobody, why="an id that does not exist")
    first = asking.init(asking.id)
    producer = asking.init(asking.id)
    asking.add(producer._replace(transactional_id=""), why="an empty id")
    asking.add(first, why="an old epoch")
    asking.add(producer.at(7), why="an epoch to come")
    asking.add(producer._replace(producer_id=producer.producer_id + 1_000_000), why="another producer id")
    asking.add(producer, [0], others=[("no-such-topic", [0])], why="mixed with an unknown topic")
    asking.add(producer, [0, 2], why="mixed with an unknown partition")
    asking.add(first, [2], why="everything is wrong")
    asking.add(producer, [], why="nothing to add")
    asking.describe(asking.id)
    asking.add(producer, [0], others=[("__consumer_offsets", [0])], why="an internal topic")
    asking.add(producer, [0], why="again")
    asking.add(producer, [1, 0], why="one more")
    asking.describe(asking.id)
    asking.end(producer)
    asking.add(producer, [1], why="the next one")
    asking.describe(asking.id)
    asking.look(asking.id)


def adds_batched(script: Script, version: int) -> None:
    """A broker sends AddPartitionsToTxn: versions 4 and 5."""
    asking = Asking(script)
    first, both = asking.init(asking.id), [(asking.topic, [0, 1])]
    producer, other = asking.init(asking.id), asking.init(f"{asking.id}-other")
    ids = (asking.id, f"{asking.id}-other")
    nobody = Producer("nobody", 4_000, 0)
    asking.add_batched((producer, both, True), version=version, why="verify what is not there")
    asking.add_batched((producer, [(asking.topic, [0])], False), version=version, why="add")
    asking.add_batched((producer, both, True), version=version, why="verify: one of them is there")
    asking.add_batched((first, both, True), version=version, why="verify with an old epoch")
    asking.add_batched((producer.at(9), both, True), version=version, why="verify with an epoch to come")
    asking.add_batched((producer._replace(producer_id=999_999), both, True), version=version, why="another id")
    asking.add_batched((nobody, both, True), (nobody, both, False), version=version, why="an unknown id, twice")
    asking.add_batched(
        (producer, both, False), (other, both, True), (nobody, both, False), version=version, why="several"
    )
    asking.add_batched((producer, both, True), (producer, both, False), version=version, why="one id twice")
    asking.add_batched(
        (other, [(asking.topic, [0]), ("no-such-topic", [0])], False), version=version, why="an unknown topic"
    )
    asking.add_batched(
        (other, [(asking.topic, [0, 2])], True), version=version, why="verify an unknown partition, and one not there"
    )
    asking.add_batched((other._replace(transactional_id=""), both, False), version=version, why="an empty id")
    asking.add_batched((other._replace(transactional_id=""), both, True), version=version, why="verify an empty id")
    asking.describe(*ids)
    after = asking.end(producer)
    asking.add_batched((producer, both, True), version=version, why="verify after the end, as who it was")
    asking.add_batched((after, both, True), version=version, why="verify after the end, as who it is")
    asking.add_batched((producer, both, False), version=version, why="add after the end, as who it was")
    asking.describe(*ids)


def ends(script: Script, version: int) -> None:
    asking = Asking(script, (V2 if version >= 5 else V1)._replace(end=version))
    asking.end(Producer("nobody", 4_000, 0), why="an id that does not exist")
    first = asking.init(asking.id)
    asking.end(first, why="commit of nothing")
    first = asking.end(first, commit=False, why="abort of nothing")
    asking.describe(asking.id)
    asking.init(asking.id)
    producer = asking.init(asking.id)
    asking.open(producer)
    asking.end(producer._replace(transactional_id=""), settle=False, why="an empty id")
    asking.end(first, why="an old epoch")
    asking.end(producer.at(producer.epoch - 1), why="the epoch before, while it is open")
    asking.end(producer.at(producer.epoch + 1), why="an epoch to come")
    asking.end(producer._replace(producer_id=producer.producer_id + 1_000_000), why="another producer id")
    asking.describe(asking.id)
    for commit in (True, False):
        after = asking.end(producer, commit=commit, why="the end")
        asking.end(producer, commit=commit, why="the same once more, as who it was")
        asking.end(producer, commit=not commit, why="the opposite, as who it was")
        asking.look(asking.id)
        asking.end(after, why="commit of nothing, as who it is")
        after = asking.end(after, commit=False, why="abort of nothing, as who it is")
        after = asking.end(after, commit=False, why="and once more")
        asking.describe(asking.id)
        producer = after
        asking.open(producer, sequence=0 if asking.versions.is_v2 else 1)
    asking.look(asking.id)


def aborts_of_nothing(script: Script) -> None:
    """Under version 2, aborting an empty transaction is a transaction too, and raises the epoch."""
    asking = Asking(script)
    producer = asking.init(asking.id)
    after = asking.end(producer, commit=False, why="from empty")
    asking.end(producer, commit=False, why="repeated, as who it was")
    asking.end(producer, commit=True, why="the opposite, as who it was")
    asking.describe(asking.id)
    asking.open(after)
    asking.look(asking.id)
    asking.end(after)
    asking.look(asking.id)


def mixed_protocols(script: Script) -> None:
    """A client is upgraded, or downgraded, between two transactions."""
    asking = Asking(script)
    producer = asking.init(asking.id)
    asking.open(producer)
    asking.end(producer, version=4, why="begun with version 2, ended with version 1")
    asking.look(asking.id)
    asking.add(producer, [1])
    asking.produce(producer, 0, partition=1, version=11)
    asking.describe(asking.id)
    after = asking.end(producer, version=5, why="begun with version 1, ended with version 2")
    asking.look(asking.id)
    asking.open(after)
    asking.add(after, [1], why="both ways in one")
    asking.describe(asking.id)
    asking.end(after, commit=False)
    asking.look(asking.id)


def fencing(script: Script, versions: Versions) -> None:
    """A second producer of the same transactional id takes over; the first then tries every request."""
    asking = Asking(script, versions)
    for state in ("empty", "ongoing", "complete"):
        asking.id = f"{script.name}-{state}"
        first = asking.init(asking.id, why=state)
        if state != "empty":
            asking.open(first)
        if state == "complete":
            first = asking.end(first)
        second = asking.init(asking.id, why="the second one")
        if state == "ongoing":
            asking.settle(asking.id)
            second = asking.init(asking.id, why="the second one, again")
        asking.add(first, why="fenced")
        asking.produce(first, 1, why="fenced")
        asking.add_offsets(first, asking.id, why="fenced")
        asking.commit_offsets(first, asking.id, why="fenced")
        asking.end(first, why="fenced")
        asking.end(first, commit=False, why="fenced")
        if versions.init >= 3:
            asking.init(asking.id, first, why="fenced")
        asking.open(second)
        asking.end(second)
        asking.describe(asking.id)
        asking.produce(first, 1, why="fenced, after the second one's")
    asking.look(asking.id)


SCENARIOS: dict[str, Scenario] = {
    **{f"add-v{version}": partial(adds, version=version) for version in range(4)},
    **{f"add-batched-v{version}": partial(adds_batched, version=version) for version in (4, 5)},
    **{f"end-v{version}": partial(ends, version=version) for version in range(6)},
    "abort-of-nothing": aborts_of_nothing,
    "mixed-protocols": mixed_protocols,
    "fencing-v1": partial(fencing, versions=V1),
    "fencing-v1-oldest": partial(fencing, versions=Versions(0, 3, 0, 0, 0, 0)),
    "fencing-v2": partial(fencing, versions=V2),
}
