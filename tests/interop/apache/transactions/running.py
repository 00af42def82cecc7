"""Every scenario on a broker, one after the other, so that it is known which one left what in the coordinators'
topics."""

import contextlib
from collections.abc import Mapping

from tests.interop.apache.transactions.script import CLIENT_ID, Scenario, Script, Step
from tests.interop.apache.transactions.stored import Stored
from tests.support.blocking_connection import BlockingConnection


def run(scenarios: Mapping[str, Scenario], bootstrap: str) -> dict[str, list[Step]]:
    recorded = {}
    for name, scenario in scenarios.items():
        with contextlib.closing(BlockingConnection(bootstrap, CLIENT_ID)) as wire:
            script = Script(name, wire)
            stored = Stored(script)
            scenario(script)
            stored.record()
            recorded[name] = script.steps
    return recorded
