"""Whatever drivers die, come back or are believed dead, each batch is visible once, or an error names the batch."""

from collections import Counter
from collections.abc import Generator

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.two_phase_cluster import Checkpoint, Died, Fenced, Query

from pyspark_tidelog.sink.two_phase import LedgerLost, Lost, NotOpen, Refused

BATCHES = 3
TASKS = 2
ERRORS = (Died, Fenced, Lost, NotOpen, LedgerLost, Refused, TimeoutError)
PATIENCE = 20

# A step of the story: driver 0 or 1 does a step (or several), dies, and so on.
steps = st.tuples(st.just("step"), st.integers(0, 1), st.integers(1, 12))
deaths = st.tuples(st.just("die"), st.integers(0, 1), st.just(0))
partial = st.tuples(st.just("die among commits"), st.just(0), st.integers(0, TASKS - 1))
replays = st.tuples(st.just("delete the last commit"), st.just(0), st.just(0))
timeouts = st.tuples(st.just("time out"), st.just(0), st.just(0))
retries = st.sets(st.tuples(st.integers(0, BATCHES - 1), st.integers(0, TASKS - 1)))


class Life:
    def __init__(self, query: Query) -> None:
        self.query = query
        self.runs = 0
        self.drivers: list[Generator[None, None, None] | None] = [None, None]

    def start(self) -> Generator[None, None, None]:
        self.runs += 1
        return self.query.driver(f"run{self.runs}")

    def step(self, which: int, count: int) -> None:
        driver = self.drivers[which] = self.drivers[which] or self.start()
        try:
            for _ in range(count):
                next(driver)
        except (StopIteration, *ERRORS):
            self.drivers[which] = None

    def act(self, what: str, which: int, count: int) -> None:
        query = self.query
        if what == "step":
            self.step(which, count)
        elif what == "die":
            self.drivers[which] = None
        elif what == "die among commits":
            query.cluster.commits_left = count
        elif what == "delete the last commit":
            self.drivers = [None, None]  # an operator stops the query first
            last = query.cluster.ledger
            decided = -1 if last is None else last.batch_id
            query.checkpoint.committed = max(-1, min(query.checkpoint.committed, decided - 1))
        else:
            query.cluster.time_out()

    def finish(self) -> bool:
        """Restart the query as an operator would, until it is through or the operator gives up."""
        self.query.cluster.commits_left = None
        for _ in range(PATIENCE):
            try:
                for _ in self.start():
                    pass
                return True
            except ERRORS:
                pass
        return False


def lived(
    story: list[tuple[str, int, int]], retried: set[tuple[int, int]], losing_answers: int, goes_on: bool = False
) -> Life:
    life = Life(Query(BATCHES, TASKS, retries=retried, losing_answers=losing_answers, goes_on=goes_on))
    for each in story:
        life.act(*each)
    return life


@settings(derandomize=True, max_examples=250, deadline=None)
@given(
    st.lists(st.one_of(steps, steps, deaths, partial, replays), max_size=30), retries, st.integers(0, 2), st.booleans()
)
def test_each_batch_is_visible_once(
    story: list[tuple[str, int, int]], retried: set[tuple[int, int]], losing_answers: int, goes_on: bool
) -> None:
    life = lived(story, retried, losing_answers, goes_on)
    assert life.finish()
    query = life.query
    seen = Counter((batch, task) for batch, task, _ in query.cluster.visible)
    assert seen == {(batch, task): 1 for batch in range(BATCHES) for task in range(TASKS)}
    assert query.lost == []
    for batch in range(BATCHES):  # each batch is of one run, not of two halves
        assert len({run for each, _, run in query.cluster.visible if each == batch}) == 1


@settings(derandomize=True, max_examples=250, deadline=None)
@given(st.lists(st.one_of(steps, steps, deaths, partial, replays, timeouts), max_size=30), retries)
def test_with_timeouts_what_is_missing_was_complained_of(
    story: list[tuple[str, int, int]], retried: set[tuple[int, int]]
) -> None:
    life = lived(story, retried, 0)
    is_through = life.finish()
    query = life.query
    seen = Counter((batch, task) for batch, task, _ in query.cluster.visible)
    assert all(count == 1 for count in seen.values())
    missing = {(batch, task) for batch in range(query.checkpoint.committed + 1) for task in range(TASKS)} - set(seen)
    assert {batch for batch, _ in missing} <= set(query.lost)
    assert is_through or query.lost


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.one_of(steps, deaths, partial), max_size=20), retries)
def test_a_driver_that_decides_leaves_nothing_open_of_those_that_died(
    story: list[tuple[str, int, int]], retried: set[tuple[int, int]]
) -> None:
    life = lived(story, retried, 0)
    life.drivers = [None, None]  # the drivers that are left die
    decisions = len(life.query.cluster.decided)
    assert life.finish()
    if len(life.query.cluster.decided) > decisions:
        assert life.query.cluster.open_ids() == []


# Drivers of a checkpoint and of a copy of it, either of which may be rewound: their batches have the same numbers.
copies = st.tuples(st.just("copy"), st.just(1), st.just(0))
rewinds = st.tuples(st.just("rewind"), st.integers(0, 1), st.just(0))


class TwoCheckpoints(Life):
    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.checkpoints = [query.checkpoint, Checkpoint("copy")]

    def step(self, which: int, count: int) -> None:
        if self.drivers[which] is None:
            self.runs += 1
            self.drivers[which] = self.query.driver(f"run{self.runs}", self.checkpoints[which])
        super().step(which, count)

    def act(self, what: str, which: int, count: int) -> None:
        if what == "copy":
            self.drivers[1], self.checkpoints[1] = None, self.checkpoints[0].copy(f"copy {self.runs}")
        elif what == "rewind":
            self.drivers[which] = None
            self.checkpoints[which].rewind()
        else:
            super().act(what, which, count)


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.lists(st.one_of(steps, steps, steps, deaths, partial, copies, rewinds), max_size=40), retries)
def test_what_spark_takes_note_of_is_visible_whoever_else_uses_the_query_id(
    story: list[tuple[str, int, int]], retried: set[tuple[int, int]]
) -> None:
    """A batch that is not written is refused aloud: none is dropped and taken note of."""
    life = TwoCheckpoints(Query(BATCHES, TASKS, retries=retried))
    for each in story:
        life.act(*each)
    visible = life.query.cluster.visible
    for batch_id, content in life.query.taken_note_of:
        seen = [task for batch, task, tag in visible if batch == batch_id and tag.endswith(f": {content}")]
        assert sorted(seen) == list(range(TASKS))
