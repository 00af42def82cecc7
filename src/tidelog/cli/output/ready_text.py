"""What is said when a node serves: where it listens, and what clients will be told.

The second is what goes wrong most often with a Kafka: a client reaches the bootstrap address, and is then sent to one
that it can not reach.
"""

import json
import os
import sys
from typing import Any, NamedTuple

from tidelog.cli.output.ansi import BOLD, DIM, GREEN, paint
from tidelog.config import BrokerConfig
from tidelog.config.settings import node as node_settings
from tidelog.io.run import Runner
from tidelog.ports.network import Address
from tidelog.server.cluster.advertised import fixed_addresses
from tidelog.server.node.life_lines import BY_ADDRESS

NO_ADDRESS = "of no address: the listener is not in advertised.listeners"


class ServedListener(NamedTuple):
    """A listener for clients. `told` is None where each client hears the address that it used, empty where it hears
    none."""

    name: str
    bound: str
    told: str | None


def served(runner: Runner, config: BrokerConfig) -> list[ServedListener]:
    fixed = fixed_addresses(config, runner.bound)
    told = {} if fixed is None else {name: shown(address) for name, address in fixed.items()}
    controllers = config.listener_plan.controller_names
    return [
        ServedListener(name, shown(bound), None if fixed is None else told.get(name, ""))
        for name, bound in runner.bound.items()
        if name not in controllers
    ]


def shown(address: Address) -> str:
    return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"


def say_ready(
    runner: Runner, config: BrokerConfig, *, as_json: bool, tips: tuple[str, ...] = (), data: str = ""
) -> None:
    listeners = served(runner, config)
    if as_json:
        print(json.dumps(_plain(runner, config, listeners)), flush=True)
        return
    where = ", ".join(paint(each.bound, BOLD, sys.stdout) for each in listeners) or "its controller's listener"
    print(f"{paint('Tidelog is ready', GREEN, sys.stdout)} on {where}   (Ctrl-C stops it)")
    print(f"  data      {data or ', '.join(config.log_dirs)}")
    for each in listeners:
        name = f" on {each.name}" if len(listeners) > 1 else ""
        told = BY_ADDRESS if each.told is None else each.told or NO_ADDRESS
        print(f"  clients{name}   are told {told}")
    if runner.metrics_address is not None:
        print(f"  metrics   http://{shown(runner.metrics_address)}/metrics")
    if tips:
        print("  try", *(paint(f"    {tip}", DIM, sys.stdout) for tip in tips), sep="\n")
    sys.stdout.flush()


def _plain(runner: Runner, config: BrokerConfig, listeners: list[ServedListener]) -> dict[str, Any]:
    assert runner.node is not None, "it is ready"
    return {
        "ready": True,
        "pid": os.getpid(),
        "node_id": config.get(node_settings.NODE_ID),
        "cluster_id": runner.node.files.cluster_id,
        "listeners": [each._asdict() for each in listeners],
        "log_dirs": list(config.log_dirs),
        "metrics": None if runner.metrics_address is None else shown(runner.metrics_address),
    }
