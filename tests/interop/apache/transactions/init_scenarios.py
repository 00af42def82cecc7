"""InitProducerId: with and without a transactional id, repeated, by a producer that names its old identity, in each
state."""

from functools import partial

from tests.interop.apache.transactions.asking import V1, V2, Asking, Producer, Versions
from tests.interop.apache.transactions.script import Scenario, Script

UNKNOWN_PRODUCER_ID = 123_456_789
MAX_TIMEOUT_MS = 900_000  # transaction.max.timeout.ms


def requests_that_are_wrong(script: Script, version: int) -> None:
    asking = Asking(script)
    asking.init(None, version=version, why="no transactional id")
    asking.init(None, version=version, timeout_ms=-5, why="no transactional id, and a timeout that nobody needs")
    asking.init("", version=version, why="an empty id")
    asking.init("", version=version, timeout_ms=0, why="an empty id and no timeout")
    for timeout_ms in (0, -1, MAX_TIMEOUT_MS + 1, 2**31 - 1):
        asking.init(asking.id, version=version, timeout_ms=timeout_ms, why=f"timeout {timeout_ms}")
    asking.describe(asking.id, why="nothing has come of it")
    asking.init(asking.id, version=version, timeout_ms=MAX_TIMEOUT_MS)
    again = asking.init(asking.id, version=version)
    asking.describe(asking.id)
    if version >= 3:
        _named_by_halves(asking, version, again)


def _named_by_halves(asking: Asking, version: int, known: Producer) -> None:
    for as_ in (Producer(None, -1, 0), Producer(None, known.producer_id, -1)):
        asking.init(asking.id, as_, version=version, why="half a producer")
        asking.init(None, as_, version=version, why="half a producer without transactional id")
    asking.init(None, known, version=version, why="an idempotent producer that names itself")
    asking.init("", known, version=version, why="an empty id that names itself")


def named(script: Script, version: int) -> None:
    """A producer that recovers names the identity that it had (KIP-360)."""
    asking = Asking(script)
    first = asking.init(asking.id, version=version)
    second = asking.init(asking.id, first, version=version, why="as the current one")
    asking.init(asking.id, first, version=version, why="a repetition: the answer was lost")
    asking.init(asking.id, first, version=version, why="and once more")
    third = asking.init(asking.id, second, version=version, why="as the current one")
    asking.init(asking.id, first, version=version, why="with an old epoch")
    asking.init(asking.id, third.at(third.epoch + 5), version=version, why="with an epoch to come")
    asking.init(asking.id, third.at(32766), version=version, why="with the last epoch of all")
    unknown = Producer(None, UNKNOWN_PRODUCER_ID, 0)
    asking.init(asking.id, unknown, version=version, why="with somebody else's producer id")
    asking.init(asking.id, unknown.at(32766), version=version, why="with somebody else's, exhausted")
    fourth = asking.init(asking.id, version=version, why="without a name")
    asking.init(asking.id, third, version=version, why="its predecessor")
    asking.init(asking.id, fourth, version=version, why="as the current one")
    new = asking.init(f"{asking.id}-new", unknown, version=version, why="a new id that names a producer")
    asking.init(f"{asking.id}-new", new, version=version)


def finds_an_open_transaction(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    first = asking.init(asking.id)
    asking.open(first)
    asking.describe(asking.id, why="ongoing")
    asking.init(asking.id, why="the open one is aborted first")
    asking.settle(asking.id)
    asking.describe(asking.id, why="aborted")
    second = asking.init(asking.id, why="now it may")
    asking.produce(first, 1, why="the first is fenced")
    asking.end(first, why="the first is fenced")
    asking.open(second, partition=1)
    asking.look(asking.id)
    asking.init(asking.id, second, why="the current one, named, finds its own open")
    asking.settle(asking.id)
    third = asking.init(asking.id, second, why="and names itself again")
    asking.init(asking.id, third, why="and as the one it is now")
    asking.look(asking.id)


def after_each_end(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    producer = asking.init(asking.id)
    for commit in (True, False):
        asking.open(producer)
        after = asking.end(producer, commit=commit)
        asking.init(asking.id, producer, why="as who made it")
        producer = asking.init(asking.id, after, why="as who it is after the end")
        producer = asking.init(asking.id, timeout_ms=30_000, why="anew")
        asking.describe(asking.id)


def by_an_old_one_while_open(script: Script) -> None:
    """A producer with an old epoch asks while its successor's transaction is open."""
    asking = Asking(script)
    first = asking.init(asking.id)
    second = asking.init(asking.id)
    asking.open(second)
    asking.init(asking.id, first, why="with an old epoch")
    asking.settle(asking.id)


SCENARIOS: dict[str, Scenario] = {
    **{f"init-wrong-v{version}": partial(requests_that_are_wrong, version=version) for version in range(6)},
    **{f"init-named-v{version}": partial(named, version=version) for version in (3, 4, 5)},
    "init-open-v1": partial(finds_an_open_transaction, versions=V1),
    "init-open-v2": partial(finds_an_open_transaction, versions=V2),
    "init-after-end-v1": partial(after_each_end, versions=V1),
    "init-after-end-v2": partial(after_each_end, versions=V2),
    "init-old-while-open": by_an_old_one_while_open,
}
