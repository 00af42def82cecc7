"""Every scenario on a broker, one after the other: what they leave in the coordinators' topics is told apart by that."""

import contextlib
from collections.abc import Mapping

from tests.interop.apache.transactions.script import Scenario, Script, Step, Wire
from tests.interop.apache.transactions.stored import Stored


def run(scenarios: Mapping[str, Scenario], bootstrap: str) -> dict[str, list[Step]]:
    recorded = {}
    for name, scenario in scenarios.items():
        with contextlib.closing(Wire(bootstrap)) as wire:
            script = Script(name, wire)
            stored = Stored(script)
            scenario(script)
            stored.record()
            recorded[name] = script.steps
    return recorded


