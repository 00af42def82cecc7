"""Ids of log directories in the metadata, and the three that name no directory."""

from collections.abc import Container

from tidelog.model.ids import Uuid

MIGRATING_DIRECTORY = Uuid(bytes(16))  # chosen before directories had ids
UNASSIGNED_DIRECTORY = Uuid(bytes(15) + b"\x01")  # not chosen yet
LOST_DIRECTORY = Uuid(bytes(15) + b"\x02")  # one that failed

_RESERVED_BELOW = 100


def is_reserved(directory: Uuid) -> bool:
    """Tell whether the id is one of the lowest, which Kafka keeps for special meanings: a random id must not be one."""
    return int.from_bytes(directory, "big") < _RESERVED_BELOW


def is_online(directory: Uuid, online: Container[Uuid]) -> bool:
    """Tell whether a replica there counts as online on a broker with these online directories.

    A broker that registered under a metadata.version without directories told none: it would have stopped had they all
    failed, so its replicas count as online.
    """
    if directory in (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY):
        return True
    return directory != LOST_DIRECTORY and (not online or directory in online)
