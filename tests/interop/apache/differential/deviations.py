"""The differences from Apache's answers that are on purpose, each with its reason. A difference that is not here is a
bug."""

import re
from dataclasses import dataclass
from typing import Final

from tests.interop.apache.differential.comparing import differences
from tests.interop.apache.differential.world import Transcript


@dataclass(frozen=True)
class Deviation:
    scenario: str  # a pattern of the scenario's name
    difference: str  # a pattern of the difference as it is told
    reason: str


DEVIATIONS: Final = (
    Deviation(
        r"a_consumer_of_many_topics",
        r"ConsumerGroupHeartbeatRequest v\d\.error_message: Apache says None, we 'words'",
        "A record that the offsets topic does not take is UNKNOWN_SERVER_ERROR to the client; we say what is large.",
    ),
    Deviation(
        r"static_member",
        r"members\[\d\]\.client_id",
        "A static member that comes back under a new member id is described by the client that it is now; Apache goes "
        "on to show the client id and host of the process that joined first.",
    ),
    Deviation(
        r"offsets_of_consumers",
        r"OffsetFetchRequest .*: Apache says 'UNKNOWN_SERVER_ERROR', we 'UNKNOWN_MEMBER_ID'",
        "A fetch with a member epoch and no member id: Apache stumbles over the null, we say that there is none such.",
    ),
    Deviation(
        r"a_classic_member_meets_an_empty_consumer_group",
        r"^(8|10): ",
        "A JoinGroup with an unknown member id is refused. Apache has by then forgotten the empty consumer group, "
        "until its next load finds it in the log again; with us a refused request changes nothing.",
    ),
    Deviation(
        r"a_classic_group_that_can_not_be_read",
        r"^4: ",
        "A classic group whose assignments are no consumers' can not be upgraded: GROUP_ID_NOT_FOUND, as Apache says "
        "too where the bytes are merely too few. Where they claim a huge list, its reader fails in another way.",
    ),
)


def unexplained(scenario: str, apache: Transcript, ours: Transcript) -> list[str]:
    """Return the differences between the two transcripts that no known deviation explains."""
    return [each for each in differences(apache, ours) if not is_known(scenario, each)]


def is_known(scenario: str, difference: str) -> bool:
    return any(re.search(each.scenario, scenario) and re.search(each.difference, difference) for each in DEVIATIONS)
