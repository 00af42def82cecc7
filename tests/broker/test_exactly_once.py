"""Ten rounds of the soak (`make soak` runs 200): exactly-once end to end, with kill -9 on both sides."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.apache.jars import ApacheMissing, fetch_jars
from tests.soak.plan import Group, Program, plan
from tests.soak.processes import Node, Programs
from tests.soak.round import Round

SEED = 6
ROUNDS = 5


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    node.start()
    yield node
    node.kill()


def run_rounds(program: Program, node: Node, directory: Path) -> None:
    programs = Programs(directory)
    for number in range(ROUNDS):
        made = plan(SEED, number, program)
        made.group = list(Group)[number % len(Group)]  # each of them, whatever the seed
        outcome = Round(made, node, programs, directory).run()
        assert outcome.commits >= 1
    node.stop()


def test_with_confluent_kafka(node: Node, tmp_path: Path) -> None:
    run_rounds(Program.CONFLUENT, node, tmp_path)


def test_with_the_java_client(node: Node, tmp_path: Path) -> None:
    try:
        fetch_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE'S CLIENT DID NOT RUN, EXACTLY-ONCE IS NOT TESTED WITH IT: {missing}")
    run_rounds(Program.JAVA, node, tmp_path)
