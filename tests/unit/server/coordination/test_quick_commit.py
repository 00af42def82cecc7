"""The quick path of an offset commit against the ordinary one: the same requests go to two nodes of one seed, one of
which forgets its commit paths before every request. Both give the same answers, keep the same offsets and write the
same log."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.coordinating import fetched, group_world, join, partition_of, sync, until_loaded

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.ports.errors import DiskFull
from tidelog.ports.files import Completion
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.sim.wire import NetworkSettings
from tidelog.storage.log.reading import FetchIsolation, read

VERSIONS = range(2, 11)
QUICK_VERSIONS = range(8, 11)
BY_TOPIC_ID = 10
OFFSET_COMMIT = 8
METADATA_MAX = 40


class Side:
    """One of the two nodes."""

    def __init__(self, is_quick: bool, network: NetworkSettings | None = None) -> None:
        self.is_quick = is_quick
        self.world: NodeWorld = group_world(31, {"offset.metadata.max.bytes": str(METADATA_MAX)}, network=network)
        self.handled = 0
        dispatch = self.world.running.broker.dispatch
        handle: Callable[..., None] = dispatch.handle

        def counting(*arguments: Any) -> None:
            self.handled += 1
            handle(*arguments)

        dispatch.handle = counting  # type: ignore[method-assign, assignment]

    @property
    def topic_id(self) -> Uuid:
        found: Uuid = self.world.running.broker.image.topics.by_name["t"].id
        return found

    def ask(self, client: SimClient, body: OffsetCommitRequest, version: int) -> Any:
        self.forget()
        return client.ask(body, version)

    def forget(self) -> None:
        if not self.is_quick:
            for connection in self.world.running.broker.connections.all():
                connection.commit_path = None

    def request(self, version: int, group: str, offset: int, **changes: Any) -> OffsetCommitRequest:
        metadata = changes.pop("metadata", "")
        partition = OffsetCommitRequestPartition(
            partition_index=changes.pop("partition", 0),
            committed_offset=offset,
            committed_leader_epoch=changes.pop("leader_epoch", -1),
            committed_metadata=metadata,
        )
        named: dict[str, Any] = {"name": changes.pop("topic", "t")}
        if version >= BY_TOPIC_ID:
            named = {"topic_id": self.topic_id if named["name"] == "t" else Uuid(b"\1" * 16)}
        topics = [OffsetCommitRequestTopic(partitions=[partition] * changes.pop("times", 1), **named)]
        return OffsetCommitRequest(**{"group_id": group, "member_id": "", "topics": topics, **changes})

    def state(self) -> Any:
        machines = self.world.running.broker.coordinators.groups.machines()
        return [machine.printed() for _index, machine in machines]

    def logged(self, group: str) -> bytes:
        log = partition_of(self.world, group).log
        return read(log, log.log_start_offset, 1 << 20, FetchIsolation.LOG_END).read_all()


@pytest.fixture(scope="module")
def sides() -> tuple[Side, Side]:
    return Side(is_quick=True), Side(is_quick=False)


COMMITS: dict[str, dict[str, Any]] = {
    "the one that makes the group": {},
    "the same again": {},
    "another offset": {"offset": 77},
    "a leader epoch": {"offset": 78, "leader_epoch": 5},
    "metadata": {"metadata": "where I was"},
    "no metadata": {"metadata": None},
    "just short enough": {"metadata": "m" * METADATA_MAX},
    "too long": {"metadata": "m" * (METADATA_MAX + 1)},
    "far too long": {"metadata": "m" * 200},
    "not ASCII": {"metadata": "\u00fc" * METADATA_MAX},
    "not in the plane": {"metadata": "\U0001f30a" * (METADATA_MAX // 2 + 1)},
    "the usual": {},
    "the other partition": {"partition": 1},
    "and again": {"partition": 1, "offset": 5},
    "a partition that is not": {"partition": 2},
    "and back": {},
    "a topic that is not": {"topic": "u"},
    "a generation": {"generation_id_or_member_epoch": 3},
    "a member": {"member_id": "nobody"},
    "several": {"times": 3},
    "the largest offset": {"offset": (1 << 63) - 1},
    "a negative one": {"offset": -1},
    "the usual at last": {"offset": 99},
}


@pytest.mark.parametrize("version", VERSIONS)
def test_both_ways_answer_alike(sides: tuple[Side, Side], version: int) -> None:
    told, group = [], f"alike-{version}"
    for side in sides:
        client = side.world.client()
        answers = {}
        for name, changes in COMMITS.items():
            wanted = {"offset": 42, **changes}
            if version < 7:
                wanted.pop("leader_epoch", None)
            answer = side.ask(client, side.request(version, group, **wanted), version)
            answers[name] = [each.error_code for each in answer.topics[0].partitions]
        told.append((answers, fetched(client, group)))
    assert told[0] == told[1]
    assert told[0][1] == 99
    assert sides[0].state() == sides[1].state()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_quick_way_is_taken(sides: tuple[Side, Side], version: int) -> None:
    taken, logs = [], []
    for side in sides:
        client, before = side.world.client(), side.handled
        for offset in range(5):
            side.ask(client, side.request(version, f"taken-{version}", offset, metadata="m"), version)
        taken.append(side.handled - before)
        logs.append(side.logged(f"taken-{version}"))
        assert fetched(client, f"taken-{version}") == 4
    assert taken == [1 if version in QUICK_VERSIONS else 5, 5]
    assert logs[0] == logs[1]


def test_a_member_is_held_to_its_generation(sides: tuple[Side, Side]) -> None:
    told = []
    for side in sides:
        client, group = side.world.client(), "members"
        joined = client.ask(join(group), 3)
        member_id, generation = joined.member_id, joined.generation_id
        client.ask(sync(group, member_id, generation, **{member_id: b""}), 3)
        codes, before = [], side.handled
        for asked in (generation, generation, generation, generation - 1):
            body = side.request(9, group, 7, member_id=member_id, generation_id_or_member_epoch=asked)
            codes.append(side.ask(client, body, 9).topics[0].partitions[0].error_code)
        joined = client.ask(join(group, member_id), 3)  # a rebalance: the generation that was learned is over
        body = side.request(9, group, 8, member_id=member_id, generation_id_or_member_epoch=generation)
        codes += [side.ask(client, body, 9).topics[0].partitions[0].error_code for _ in range(2)]
        told.append((codes, side.handled - before))
    assert told[0][0] == told[1][0] == [0, 0, 0, *[ErrorCode.ILLEGAL_GENERATION] * 3]
    assert told[0][1] == told[1][1] - 2


def test_a_commit_keeps_the_session_of_its_member(sides: tuple[Side, Side]) -> None:
    for side in sides:
        client, group = side.world.client(), "sessions"
        joined = client.ask(join(group), 3)
        identity = {"member_id": joined.member_id, "generation_id_or_member_epoch": joined.generation_id}
        client.ask(sync(group, joined.member_id, joined.generation_id, **{joined.member_id: b""}), 3)
        for offset in range(6):
            side.world.run(4_000)  # less than the session of six seconds
            answer = side.ask(client, side.request(9, group, offset, **identity), 9)
            assert answer.topics[0].partitions[0].error_code == 0


def test_pipelined_commits_are_answered_in_order_between_others(sides: tuple[Side, Side]) -> None:
    told = []
    for side in sides:
        client = side.world.client()
        side.ask(client, side.request(9, "pipelined", 0), 9)
        for offset in range(20):
            version = 9 if offset % 4 else 7
            client.send(side.request(version, "pipelined", offset), version)
        told.append([client.receive() for _ in range(20)])
        assert fetched(client, "pipelined") == 19
    assert told[0] == told[1]


def test_a_frame_that_ends_inside_what_was_learned_is_not_read_beyond_its_end(sides: tuple[Side, Side]) -> None:
    for side in sides:
        client = side.world.client()
        good = side.request(9, "short", 5)
        for _ in range(3):
            side.ask(client, good, 9)
        whole = b"".join(map(bytes, client._protocol.send(good, 9)))
        side.forget()
        client.send_bytes((len(whole) - 8).to_bytes(4, "big") + whole[4:-4])
        with pytest.raises(EOFError):
            client.receive()


def test_a_path_is_forgotten_when_the_topic_is_gone() -> None:
    side = Side(is_quick=True)
    client = side.world.client()
    for offset in range(3):
        side.ask(client, side.request(9, "forgotten", offset), 9)
    side.world.client().ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    side.world.run(100)
    answer = side.ask(client, side.request(9, "forgotten", 4), 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_what_was_acknowledged_is_there_after_a_kill() -> None:
    side = Side(is_quick=True)
    client, before = side.world.client(), side.handled
    for offset in range(10):
        side.ask(client, side.request(9, "kept", offset), 9)
    assert side.handled - before == 1
    side.world.kill()
    side.world.start()
    until_loaded(side.world)
    assert fetched(side.world.client(), "kept") == 9


def test_nothing_is_decided_below_min_isr() -> None:
    """The quick path leaves such a commit to the ordinary one, which refuses it."""
    side = Side(is_quick=True)
    client = side.world.client()
    for offset in range(3):
        side.ask(client, side.request(9, "held", offset), 9)
    partition_of(side.world, "held").isr_size = 0
    answer = side.ask(client, side.request(9, "held", 4), 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_quick_commits_are_counted(sides: tuple[Side, Side]) -> None:
    counts = []
    for side in sides:
        client = side.world.client()
        metrics = side.world.running.broker.request_metrics.of(OFFSET_COMMIT)
        before = metrics.total.total
        for offset in range(4):
            side.ask(client, side.request(9, "counted", offset), 9)
        counts.append(metrics.total.total - before)
    assert counts == [4, 4]


# Commits of several groups in one turn


class Together:
    """One client for each group, each with a commit on its way that takes the quick path; the groups are in different
    partitions."""

    def __init__(self) -> None:
        at_once = NetworkSettings(delay_ms_max=0, short_write_chance=0)
        self.side = Side(is_quick=True, network=at_once)
        self.world = self.side.world
        by_partition = {partition_of(self.world, group): group for group in ("a", "b", "c", "d")}
        self.partitions, self.groups = list(by_partition), list(by_partition.values())
        assert len(self.groups) == 2, "the groups lie in both partitions"
        self.clients = [self.world.client() for _ in self.groups]
        for client, group in zip(self.clients, self.groups, strict=True):
            for offset in range(2):
                self.side.ask(client, self.side.request(9, group, offset), 9)
        self.commits: list[list[Any]] = []  # the logs that were written together
        logs = self.world.running.broker.logs
        commit: Callable[..., None] = logs.commit

        def noting(written: Any, *arguments: Any, **named: Any) -> None:
            self.commits.append([log.topic_partition for log in written])
            commit(written, *arguments, **named)

        logs.commit = noting  # type: ignore[method-assign, assignment]
        for client, group in zip(self.clients, self.groups, strict=True):
            client.send(self.side.request(9, group, 7), 9)

    def codes(self) -> list[int]:
        return [client.receive().topics[0].partitions[0].error_code for client in self.clients]


def test_the_logs_of_all_groups_are_written_together() -> None:
    together = Together()
    assert together.codes() == [0, 0]
    assert together.commits == [[partition.topic_partition for partition in together.partitions]]
    assert [fetched(together.clients[0], group) for group in together.groups] == [7, 7]


def test_a_write_that_fails_costs_its_own_group_alone() -> None:
    together = Together()
    failing = together.partitions[0].log.directory
    together.world.fs.disk("/disk").faults.fail(Op.WRITE, failing, fault=DiskFull)
    assert together.codes() == [ErrorCode.NOT_COORDINATOR, 0]
    until_loaded(together.world)
    assert [fetched(together.clients[0], group) for group in together.groups] == [1, 7]


def test_with_other_requests_in_line_a_commit_is_written_in_their_turn() -> None:
    together = Together()
    together.clients[0].send(together.side.request(7, together.groups[0], 8), 7)  # takes the ordinary path
    assert together.codes() == [0, 0]
    assert together.clients[0].receive().topics[0].partitions[0].error_code == 0
    assert [fetched(together.clients[0], group) for group in together.groups] == [8, 7]


def test_a_coordinator_that_goes_before_the_write_answers_for_what_was_decided() -> None:
    together = Together()
    family, fs = together.world.running.broker.coordinators.groups, together.world.fs
    completions: Callable[[], list[Completion]] = fs.completions

    def losing() -> list[Completion]:
        """Take the leadership away between the requests of a turn and the coordinators' part in it."""
        if family.has_work:
            together.partitions[0].leader_id = -1
            family.look(together.partitions[0])
        return completions()

    fs.completions = losing  # type: ignore[method-assign]
    assert together.codes() == [ErrorCode.NOT_COORDINATOR, 0]
    log = together.partitions[0].log
    assert (log.staged_bytes, log.log_end_offset) == (0, log.high_watermark)
