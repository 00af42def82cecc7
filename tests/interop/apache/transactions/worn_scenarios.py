"""Producer ids whose epochs run out: 32766 is the last that a client gets, and a new id follows it.

Epochs go up by one at a time, so the worn ids were written straight into the coordinator's log.
"""

from functools import partial

from tests.interop.apache.transactions.asking import V1, V2, Asking, Producer, Versions
from tests.interop.apache.transactions.script import Scenario, Script
from tests.interop.apache.transactions.setting_up import WORN_EPOCH

FIRST_WORN_ID = 5_000_000  # no broker gives out so many producer ids in a test
SHORT_MS = 1_000


def initialised(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    asking.describe(asking.id)
    worn = Producer(asking.id, WORN_IDS[asking.id], WORN_EPOCH)
    last = asking.init(asking.id, worn, why="the last epoch there is")
    asking.init(asking.id, worn, why="again: the answer was lost")
    fresh = asking.init(asking.id, last, why="a new producer id")
    asking.init(asking.id, last, why="again: the answer was lost")
    asking.init(asking.id, worn, why="an old one")
    asking.open(fresh)
    asking.end(fresh)
    asking.produce(last, 0, why="the one before the new id")
    asking.end(last, why="the one before the new id")
    asking.look(asking.id)


def initialised_anew(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    last = asking.init(asking.id)
    fresh = asking.init(asking.id, why="a new producer id")
    asking.init(asking.id, last, why="fenced")
    asking.init(asking.id, fresh, why="who it is")
    asking.describe(asking.id)


def ended(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    worn = asking.init(asking.id)
    for commit in (True, False):
        asking.open(worn, 0 if commit or versions.is_v2 else 1)
        after = asking.end(worn, commit=commit, why="in the last epoch")
        asking.end(worn, commit=commit, why="again, as who it was")
        asking.end(worn, commit=not commit, why="the opposite, as who it was")
        asking.look(asking.id)
        worn = after
    asking.open(worn, 0 if versions.is_v2 else 2)
    asking.end(worn)
    asking.look(asking.id)
    asking.init(asking.id, worn)


def aborted_nothing(script: Script) -> None:
    asking = Asking(script)
    worn = asking.init(asking.id)
    fresh = asking.end(worn, commit=False, why="an abort of nothing, in the last epoch")
    asking.end(worn, commit=False, why="again, as who it was")
    asking.describe(asking.id)
    asking.open(fresh)
    asking.end(fresh)
    asking.look(asking.id)


def fenced(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    worn = asking.init(asking.id)
    asking.open(worn)
    asking.init(asking.id, why="the open one is aborted first")
    asking.settle(asking.id)
    asking.look(asking.id)
    asking.produce(worn, 1, why="fenced")
    asking.end(worn, why="fenced")
    fresh = asking.init(asking.id, why="the second one")
    asking.open(fresh)
    asking.end(fresh)
    asking.look(asking.id)


def timed_out(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    worn = asking.init(asking.id, timeout_ms=SHORT_MS)
    asking.open(worn)
    asking.await_abort(asking.id)
    asking.look(asking.id)
    asking.end(worn, why="fenced")
    asking.end(worn, commit=False, why="fenced")
    asking.init(asking.id, worn, why="it recovers by naming itself")
    fresh = asking.init(asking.id, why="anew")
    asking.open(fresh)
    asking.end(fresh)
    asking.look(asking.id)


SCENARIOS: dict[str, Scenario] = {
    **{
        f"worn-{name}-{protocol}": partial(scenario, versions=versions)
        for name, scenario in (
            ("init", initialised),
            ("init-anew", initialised_anew),
            ("end", ended),
            ("fenced", fenced),
            ("timeout", timed_out),
        )
        for protocol, versions in (("v1", V1), ("v2", V2))
    },
    "worn-abort-of-nothing": aborted_nothing,
}
WORN_IDS = {f"{name}-id": FIRST_WORN_ID + index for index, name in enumerate(SCENARIOS)}
