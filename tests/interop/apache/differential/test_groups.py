"""Groups and offsets: our broker answers as Apache's does, field by field, at every version.

Apache's behaviour is the specification. Where we leave it, `deviations` says why; a deviation that no scenario shows
any more fails the test.
"""

import re

import pytest
from tests.interop.apache.differential.comparing import differences
from tests.interop.apache.differential.conftest import Transcripts
from tests.interop.apache.differential.deviations import DEVIATIONS, Deviation, unexplained
from tests.interop.apache.differential.running import BROKEN
from tests.interop.apache.differential.world import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_we_answer_as_apache_does(transcripts: Transcripts, name: str) -> None:
    apache, ours = transcripts.apache[name], transcripts.ours[name]
    broken = [step.answer for step in (*apache, *ours) if step.request == BROKEN]
    assert not broken, "\n".join(broken)
    assert unexplained(name, apache, ours) == []


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda each: each.scenario)
def test_deviations_are_there(transcripts: Transcripts, deviation: Deviation) -> None:
    shown = [
        difference
        for name in SCENARIOS
        if re.search(deviation.scenario, name)
        for difference in differences(transcripts.apache[name], transcripts.ours[name])
    ]
    assert any(re.search(deviation.difference, each) for each in shown)
