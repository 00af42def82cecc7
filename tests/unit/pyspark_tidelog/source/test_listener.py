"""What a session's listener commits, without a session."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.offsets import Offsets
from pyspark_tidelog.kafka.settings import ClusterOptions
from pyspark_tidelog.source import listener as module
from pyspark_tidelog.source.listener import GroupCommitListener, Target, listen
from tidelog.model.ids import TopicPartition

CLUSTER = ClusterOptions("localhost:1", "test", 1000, 1000, None)
OURS = Target(CLUSTER, "group")
PLACE = TopicPartition("t", 0)


class Recorded:
    """Stands for GroupCommits."""

    all: ClassVar[list["Recorded"]] = []

    def __init__(self, _cluster: ClusterOptions, group_id: str) -> None:
        self.group_id = group_id
        self.offsets: list[Offsets] = []
        self.is_closed = False
        Recorded.all.append(self)

    def finished(self, offsets: Offsets) -> None:
        self.offsets.append(offsets)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded.all = []
    monkeypatch.setattr(module, "GroupCommits", Recorded)


class Targets:
    def __init__(self, found: Mapping[str, Target]) -> None:
        self.found = found
        self.asked: list[str] = []
        self.ends: list[str] = []

    def started(self, query_id: str) -> None:
        pass

    def ended(self, query_id: str) -> None:
        self.ends.append(query_id)

    def of(self, query_id: str) -> Mapping[str, Target]:
        self.asked.append(query_id)
        return self.found


def progress(*sources: tuple[str, str | None], run: str = "run") -> Any:
    told = [SimpleNamespace(description=name, endOffset=end) for name, end in sources]
    return SimpleNamespace(progress=SimpleNamespace(id="query", runId=run, sources=told))


def test_each_source_goes_to_its_own_group_and_others_to_none() -> None:
    targets = Targets({"stream@1": OURS, "stream@2": Target(CLUSTER, "other")})
    heard = GroupCommitListener(targets)
    heard.onQueryProgress(
        progress(
            ("stream@1", '{"t": {"0": 5}}'),
            ("stream@2", '{"t": {"0": 7}}'),
            ("rate", "9"),
            ("stream@3", '{"t": {"0": 1}}'),
        )
    )
    heard.onQueryProgress(progress(("stream@1", '{"t": {"0": 6}}'), ("stream@2", None)))
    assert {each.group_id: each.offsets for each in Recorded.all} == {
        "group": [{PLACE: 5}, {PLACE: 6}],
        "other": [{PLACE: 7}],
    }
    assert targets.asked == ["query"], "a plan is looked at once a run"


def test_the_end_of_a_query_closes_what_was_its_own() -> None:
    heard = GroupCommitListener(Targets({"s": OURS}))
    for run in ("first", "second"):
        heard.onQueryProgress(progress(("s", '{"t": {"0": 5}}'), run=run))
    heard.onQueryTerminated(cast(Any, SimpleNamespace(id="query", runId="first")))
    assert [each.is_closed for each in Recorded.all] == [True, False]


class Session:
    """Spark Connect: streams, and no JVM."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.streams = SimpleNamespace(addListener=self.listeners.append)


def test_options_can_be_given() -> None:
    session = Session()
    listen(cast(Any, session), {"kafka.bootstrap.servers": "localhost:1", "COMMITOFFSETSTOGROUP": "group"})
    (heard,) = session.listeners
    heard.onQueryProgress(progress(("whatever", '{"t": {"0": 5}}')))
    (recorded,) = Recorded.all
    assert (recorded.group_id, recorded.offsets) == ("group", [{PLACE: 5}])


def test_options_without_a_group_are_refused() -> None:
    with pytest.raises(OptionError, match="commitOffsetsToGroup: is missing"):
        listen(cast(Any, Session()), {"kafka.bootstrap.servers": "localhost:1"})


def test_without_a_jvm_the_options_are_needed() -> None:
    with pytest.raises(OptionError, match="Spark Connect does not show the plan"):
        listen(cast(Any, Session()))


def test_a_query_is_settled_when_its_end_was_told() -> None:
    heard, query = GroupCommitListener(Targets({"s": OURS})), cast(Any, SimpleNamespace(runId="run"))
    heard.onQueryProgress(progress(("s", '{"t": {"0": 5}}')))
    assert not heard.settle(query, timeout_s=0.05)
    heard.onQueryTerminated(cast(Any, SimpleNamespace(id="query", runId="run")))
    assert Recorded.all[0].is_closed
    assert heard.settle(query, timeout_s=0)
