"""Topic ids in a file: what a query that was away finds out about topics of the same name."""

from pathlib import Path

import pytest
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster
from tests.unit.pyspark_tidelog.source.test_stream_plan import plan_of, ranges

from pyspark_tidelog.errors import DataLoss, OptionError
from pyspark_tidelog.source.kept_topic_ids import KeptTopicIds
from pyspark_tidelog.source.stream_plan import StreamPlan
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ONE, OTHER = Uuid(b"1" * 16), Uuid(b"2" * 16)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.create("a", 5, 7)
    return made


@pytest.fixture
def ids_file(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "ids")


def batch(plan: StreamPlan, start: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """A whole batch, as Spark runs it; where it ended."""
    end = plan.latest(start)
    plan.tasks(start, end)
    plan.finished(end)
    return end


def kept(ids_file: str) -> dict[str, Uuid]:
    return KeptTopicIds(ids_file).load({})


def test_what_was_kept_is_loaded(ids_file: str) -> None:
    assert kept(ids_file) == {}
    KeptTopicIds(ids_file).keep({"b": OTHER, "a": ONE})
    assert kept(ids_file) == {"a": ONE, "b": OTHER}
    KeptTopicIds(ids_file).keep({"a": OTHER, "old broker's": ZERO_UUID})
    assert kept(ids_file) == {"a": OTHER}
    assert [each.name for each in Path(ids_file).parent.iterdir()] == ["ids"]


def test_what_was_planned_counts_for_who_goes_on_from_its_end(ids_file: str) -> None:
    KeptTopicIds(ids_file).plan({"a": ONE}, {A0: 9, A1: 7}, {"a": OTHER})
    assert KeptTopicIds(ids_file).load({A0: 5, A1: 7}) == {"a": ONE}
    assert KeptTopicIds(ids_file).load({A0: 9, A1: 7}) == {"a": OTHER}
    KeptTopicIds(ids_file).keep({"a": OTHER})
    assert KeptTopicIds(ids_file).load({A0: 5, A1: 7}) == {"a": OTHER}


def test_the_file_is_written_only_when_ids_change(ids_file: str) -> None:
    keeping = KeptTopicIds(ids_file)
    keeping.keep({"a": ONE})
    Path(ids_file).unlink()
    keeping.keep({"a": ONE})
    keeping.plan({"a": ONE}, {A0: 9}, {"a": ONE})
    assert not Path(ids_file).exists()
    keeping.keep({"a": OTHER})
    assert kept(ids_file) == {"a": OTHER}


@pytest.mark.parametrize("content", [b"\xff", b"[1]", b"{}", b'{"topics":{"a":"not an id"}}', b'{"topics":{"a":1}}'])
def test_another_kind_of_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ids"
    path.write_bytes(content)
    with pytest.raises(OptionError, match=r"^topicIdsFile: .*/ids is not a file of topic ids"):
        KeptTopicIds(str(path)).load({})
    assert path.read_bytes() == content


def test_a_file_that_can_not_be_written_is_told_when_the_query_begins(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"^topicIdsFile: .* can not be written"):
        plan_of(cluster, topicIdsFile=str(tmp_path / "file" / "ids")).initial()
    with pytest.raises(OptionError, match=r"^topicIdsFile: .* can not be read"):
        plan_of(cluster, topicIdsFile=str(tmp_path)).latest({A0: 5, A1: 7})


@pytest.mark.parametrize("end", [2, 5, 90])
@pytest.mark.parametrize("is_in_mid_batch", [False, True])
def test_a_topic_made_anew_while_the_query_was_down(
    cluster: FakeCluster, ids_file: str, end: int, is_in_mid_batch: bool
) -> None:
    start = plan_of(cluster, topicIdsFile=ids_file).initial()
    cluster.create("a", end, 7)
    if is_in_mid_batch:
        with pytest.raises(DataLoss, match=r"a-0: offset 5 is wanted, .*: the topic was deleted and made anew"):
            plan_of(cluster, topicIdsFile=ids_file).tasks(start, {A0: 6, A1: 7})
    with pytest.raises(DataLoss, match=f"a-0: offset 5 is wanted, offsets 0 to {end - 1} are available: the topic was"):
        plan_of(cluster, topicIdsFile=ids_file).latest(start)


@pytest.mark.parametrize("is_told", [True, False])
def test_going_on_counts_when_the_batch_is_finished_and_not_before(
    cluster: FakeCluster, ids_file: str, is_told: bool
) -> None:
    """`is_told`: Spark says that a batch is finished when the next is due, and a query may be stopped before."""
    start = plan_of(cluster, topicIdsFile=ids_file).initial()
    cluster.create("a", 90, 3)
    for _crash in range(2):  # between plan and commit: the replay begins where the first try did
        plan = plan_of(cluster, topicIdsFile=ids_file, failOnDataLoss="false")
        plan.finished(start)  # Spark tells of the batch before
        end = plan.latest(start)
        assert ranges(plan, start, end) == [("a-0", 0, 90), ("a-1", 0, 3)]
    if is_told:
        plan.finished(end)
    cluster.topics["a"][1].end = 8
    after = plan_of(cluster, topicIdsFile=ids_file)
    assert ranges(after, end, after.latest(end)) == [("a-1", 3, 8)]


def test_topics_that_came_later_are_kept_too_and_those_that_went_are_not(cluster: FakeCluster, ids_file: str) -> None:
    plan = plan_of(cluster, subscribePattern=".", topicIdsFile=ids_file, failOnDataLoss="false")
    start = plan.initial()
    cluster.create("b", 4)
    end = batch(plan, start)
    assert kept(ids_file) == {"a": cluster.ids["a"], "b": cluster.ids["b"]}
    del cluster.topics["a"]
    cluster.topics["b"][0].end = 5
    batch(plan, end)
    assert kept(ids_file) == {"b": cluster.ids["b"]}


def test_a_new_checkpoint_begins_with_the_topics_that_are_there(cluster: FakeCluster, ids_file: str) -> None:
    KeptTopicIds(ids_file).keep({"a": OTHER})
    plan = plan_of(cluster, topicIdsFile=ids_file, startingOffsets="earliest")
    assert batch(plan, plan.initial()) == {A0: 5, A1: 7}
    assert kept(ids_file) == {"a": cluster.ids["a"]}
