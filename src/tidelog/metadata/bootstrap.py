"""The first records of a new cluster: what formatting writes into `bootstrap.checkpoint`.

The first active controller finds its log empty and appends them (`controller.activation`); from then on they are
history.
"""

from collections.abc import Iterable, Mapping

from tidelog.metadata.feature_levels import (
    FEATURES,
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    SERVED,
    check_metadata_version,
    default_level,
    level_problem,
)
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.metadata.records.cluster import FeatureLevelRecord


def initial_feature_levels(
    metadata_version: int = LATEST_METADATA_VERSION,
    chosen: Mapping[str, int] | None = None,
    *,
    dynamic_quorum: bool = False,
) -> dict[str, int]:
    """Return the level of every feature in a new cluster: as chosen, or else the default of that metadata.version.

    kraft.version is among them and follows from the quorum: 1 with dynamic voters, 0 with static ones. ValueError says
    what can not be: an unknown feature or level, a missing dependency, a level that this release does not serve.
    """
    check_metadata_version(metadata_version)
    levels = {METADATA_VERSION: metadata_version, KRAFT_VERSION: int(dynamic_quorum)}
    for name in FEATURES:
        if name in SERVED and name != KRAFT_VERSION:
            levels[name] = min(default_level(name, metadata_version), SERVED[name].max)
    for name, level in (chosen or {}).items():
        _check_choice(name, level, levels)
        levels[name] = level
    for name, level in levels.items():
        problem = None if name == METADATA_VERSION else level_problem(name, level, levels)
        if problem:
            raise ValueError(problem)
    return levels


def _check_choice(name: str, level: int, levels: Mapping[str, int]) -> None:
    if name == METADATA_VERSION and level != levels[METADATA_VERSION]:
        raise ValueError(f"{METADATA_VERSION} is chosen twice: {levels[METADATA_VERSION]} and {level}")
    if name == KRAFT_VERSION and level != levels[KRAFT_VERSION]:
        needed = "dynamic voters" if level else "static voters (controller.quorum.voters)"
        raise ValueError(f"{KRAFT_VERSION} {level} goes with {needed}")
    if name in FEATURES and name not in SERVED and level:
        raise ValueError(f"{name} is not served by this release")


def bootstrap_records(levels: Mapping[str, int]) -> list[MetadataRecord]:
    """Return the records that set these levels, metadata.version first, then the others by name. Level 0 is the absence
    of a record, and kraft.version belongs to the quorum's own records."""
    others = sorted(name for name, level in levels.items() if level and name not in (METADATA_VERSION, KRAFT_VERSION))
    return [
        MetadataRecord(FeatureLevelRecord(name=name, feature_level=levels[name]), 0)
        for name in (METADATA_VERSION, *others)
    ]


def bootstrap_metadata_version(records: Iterable[MetadataRecord]) -> int:
    """Return the level that the records of a bootstrap.checkpoint set. Raises ValueError when they set none."""
    level = 0
    for message, _ in records:
        if isinstance(message, FeatureLevelRecord) and message.name == METADATA_VERSION:
            level = message.feature_level
    if not level:
        raise ValueError(f"no FeatureLevelRecord for {METADATA_VERSION} among the bootstrap records")
    check_metadata_version(level)
    return level
