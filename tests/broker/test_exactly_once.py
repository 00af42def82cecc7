"""Ten rounds of the soak (`make soak` runs 200): exactly-once end to end, with kill -9 on both sides."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.apache.class_archive import archived_jars
from tests.interop.apache.jars import ApacheMissing
from tests.soak.plan import KEYS, PARTITIONS, RECORDS, Group, Program, plan
from tests.soak.processes import Node, Programs, SoakFailed
from tests.soak.round import Round
from tests.soak.verdict import check_output

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
        made.group = list(Group)[number % len(Group)]  # every kind of group gets its rounds, whatever the seed
        made.faults = made.faults[:2]  # one on each side: `make soak` has time for more
        outcome = Round(made, node, programs, directory).run()
        assert outcome.commits >= 1
    node.stop()


def test_with_confluent_kafka(node: Node, tmp_path: Path) -> None:
    run_rounds(Program.CONFLUENT, node, tmp_path)


def test_with_the_java_client(node: Node, tmp_path: Path) -> None:
    try:
        archived_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE'S CLIENT DID NOT RUN, EXACTLY-ONCE IS NOT TESTED WITH IT: {missing}")
    run_rounds(Program.JAVA, node, tmp_path)


def test_the_verdict_sees_what_is_wrong() -> None:
    right: list[list[tuple[int, int]]] = [[] for _ in range(PARTITIONS)]
    for number in range(RECORDS):
        right[number % KEYS // PARTITIONS % PARTITIONS].append((number % KEYS, number))
    check_output(right)
    missing = [right[0][:-1], *right[1:]]
    with pytest.raises(SoakFailed, match=r"missing: \[\d+\] \(1\)"):
        check_output(missing)
    with pytest.raises(SoakFailed, match=r"more than once: \[0\] \(1\)"):
        check_output([[*right[0], (0, 0)], *right[1:]])
    with pytest.raises(SoakFailed, match="the order of key 0"):
        check_output([right[0][::-1], *right[1:]])


def test_a_plan_comes_from_its_seed_alone() -> None:
    plans = [plan(SEED, number, Program.JAVA) for number in range(50)]
    assert plans == [plan(SEED, number, Program.JAVA) for number in range(50)]
    assert {each.group for each in plans} == set(Group)
    assert {each.is_static for each in plans} == {True, False}
    assert plans != [plan(SEED + 1, number, Program.JAVA) for number in range(50)]
