"""Features of a cluster, their levels, and what this release serves.

A feature level is settled for the whole cluster by a record. metadata.version says which records, and which versions
of them, may be written (record_versions.py); the others switch on behaviour. A level that was finalized stays in the
metadata whether we serve it or not: the log may go back to the release that set it.
"""

from collections.abc import Mapping

from tidelog.metadata.errors import UnknownFeatureLevel
from tidelog.metadata.nodes import VersionRange
from tidelog.model.lazy_dataclass import dataclass, field

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"

# Kafka's releases, and the levels that belong to each: the last one is what a release's name alone stands for.
_LEVELS_OF_RELEASES: dict[str, tuple[int, ...]] = {
    "3.3": (7,),
    "3.4": (8,),
    "3.5": (9, 10, 11),
    "3.6": (12, 13, 14),
    "3.7": (15, 16, 17, 18, 19),
    "3.8": (20,),
    "3.9": (21,),
    "4.0": (22, 23, 24, 25),
    "4.1": (26, 27),
    "4.2": (28, 29),
    "4.3": (30,),
}
_FIRST_SUFFIX = {"3.3": 3}  # levels before 3.3-IV3 were previews of KRaft

METADATA_VERSION_NAMES: dict[int, str] = {
    level: f"{release}-IV{_FIRST_SUFFIX.get(release, 0) + position}"
    for release, levels in _LEVELS_OF_RELEASES.items()
    for position, level in enumerate(levels)
}
MINIMUM_METADATA_VERSION = 7
LATEST_METADATA_VERSION = 30

_METADATA_VERSION_LEVELS = {name: level for level, name in METADATA_VERSION_NAMES.items()} | {
    release: levels[-1] for release, levels in _LEVELS_OF_RELEASES.items()
}


@dataclass(slots=True, frozen=True)
class FeatureLevel:
    """One level of a feature. A new cluster gets it by default from `default_from` (a metadata.version) on."""

    default_from: int
    depends_on: Mapping[str, int] = field(default_factory=dict)


# Every feature but metadata.version that Kafka 4.3 can have finalized, each with its levels, 0 first.
FEATURES: dict[str, tuple[FeatureLevel, ...]] = {
    KRAFT_VERSION: (FeatureLevel(7), FeatureLevel(21)),
    TRANSACTION_VERSION: (FeatureLevel(7), FeatureLevel(24), FeatureLevel(24)),
    GROUP_VERSION: (FeatureLevel(7), FeatureLevel(22)),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (FeatureLevel(7), FeatureLevel(26, {METADATA_VERSION: 23})),
    SHARE_VERSION: (FeatureLevel(7), FeatureLevel(28)),
    STREAMS_VERSION: (FeatureLevel(7), FeatureLevel(29)),
}

# What nodes of this release say they support, and what a cluster that we format can have. A line is added here when the
# behaviour behind it works: group.version with groups, transaction.version with transactions.
SERVED: dict[str, VersionRange] = {
    METADATA_VERSION: VersionRange(MINIMUM_METADATA_VERSION, LATEST_METADATA_VERSION),
    KRAFT_VERSION: VersionRange(0, 1),
    GROUP_VERSION: VersionRange(0, 1),
    ELIGIBLE_LEADER_REPLICAS_VERSION: VersionRange(0, 1),
    TRANSACTION_VERSION: VersionRange(0, 2),
}


def metadata_version_name(level: int) -> str:
    """Return the name of a level: `4.3-IV0` for 30."""
    check_metadata_version(level)
    return METADATA_VERSION_NAMES[level]


def parse_metadata_version(text: str) -> int:
    """Return the level of `4.3-IV0`, of a release (`4.3`), or of a patch of one (`4.3.1`). ValueError names the known
    ones."""
    level = _METADATA_VERSION_LEVELS.get(".".join(text.split(".")[:2]))
    if level is None:
        raise ValueError(f"unknown metadata.version {text!r}; known are {', '.join(METADATA_VERSION_NAMES.values())}")
    return level


def check_metadata_version(level: int) -> None:
    """Raise UnknownFeatureLevel for a level whose records we would misread."""
    if level not in METADATA_VERSION_NAMES:
        raise UnknownFeatureLevel(METADATA_VERSION, level, f"{MINIMUM_METADATA_VERSION} to {LATEST_METADATA_VERSION}")


def default_level(name: str, metadata_version: int) -> int:
    """The level of a feature in FEATURES that a new cluster gets: the highest that is a default by this
    metadata.version."""
    levels = FEATURES[name]
    return max(level for level in range(len(levels)) if levels[level].default_from <= metadata_version)


def level_problem(name: str, level: int, features: Mapping[str, int]) -> str | None:
    """Say why a feature (not metadata.version) can not be at that level beside these others, or None when it can.

    `features` are the levels as they will be, metadata.version among them; an absent one is at 0.
    """
    levels = FEATURES.get(name)
    if levels is None:
        return f"there is no feature {name!r}; features are {', '.join(sorted(FEATURES))}"
    if not 0 <= level < len(levels):
        return f"{name} has no level {level}: its levels are 0 to {len(levels) - 1}"
    needs = {**({METADATA_VERSION: MINIMUM_METADATA_VERSION} if level else {}), **levels[level].depends_on}
    for other, least in needs.items():
        if features.get(other, 0) < least:
            return f"{name} {level} needs {other} {least} or higher"
    return None
