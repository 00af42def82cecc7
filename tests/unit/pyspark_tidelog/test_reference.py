"""The reference page of the options: complete, and equal to what is committed."""

import re
from pathlib import Path

from pyspark_tidelog.kafka.catalogue import HONOURED, NO_EFFECT, REFUSED
from pyspark_tidelog.lake.catalogue import LAKE_OPTIONS
from pyspark_tidelog.reference import render
from pyspark_tidelog.sink.options import SINK_OPTIONS
from pyspark_tidelog.source.catalogue import SOURCE_OPTIONS
from pyspark_tidelog.source.schema import COLUMNS

PAGE = Path(__file__).parent.parent.parent.parent / "docs/spark-options.md"


def test_the_committed_page_is_what_the_declarations_say() -> None:
    assert PAGE.read_text() == render(), "run `make docs`"


def test_every_declared_name_has_a_row() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", render(), re.MULTILINE)
    declared = [
        each.name for group in (SOURCE_OPTIONS, SINK_OPTIONS, LAKE_OPTIONS, HONOURED) for each in group.values()
    ]
    assert sorted([*COLUMNS, *declared, *NO_EFFECT, *REFUSED]) == sorted(name for name in rows if "*" not in name)
    assert "kafka.ssl.*" in rows


def test_a_row_says_all_that_is_declared() -> None:
    page = render()
    assert "| `maxTriggerDelay` | `15m` | stream | how long `minOffsetsPerTrigger` may keep records waiting |" in page
    assert "| `kafka.exclude.internal.topics` | only `true` |" in page
    assert "| `kafka.retries` | not `0` |" in page
    assert "| `kafka.max.poll.records` | any |" in page


def test_every_option_has_a_meaning_and_a_known_scope() -> None:
    for each in (*SOURCE_OPTIONS.values(), *SINK_OPTIONS.values(), *LAKE_OPTIONS.values()):
        assert each.doc
        assert each.scope in ("batch", "stream", "both")
    assert {each.scope for each in HONOURED.values()} == {"read", "write", "both"}
