"""What a topic may be called.

A name becomes a directory and part of a metric's name; metrics turn `.` into `_`, so two names that differ in nothing
else would be counted as one.
"""

import re

from tidelog.model.errors import ApiError, ErrorCode

NAME_LENGTH_MAX = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_SHOWN_MAX = 300


def check_topic_name(name: str) -> None:
    reason = _fault(name)
    if reason:
        shown = name if len(name) <= _SHOWN_MAX else f"{name[:_SHOWN_MAX]}..."
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{shown!r} cannot be the name of a topic: {reason}")


def _fault(name: str) -> str:
    if not name:
        return "it is empty"
    if name in (".", ".."):
        return "it names a directory"
    if len(name) > NAME_LENGTH_MAX:
        return f"it is longer than {NAME_LENGTH_MAX} characters"
    if not _LEGAL.fullmatch(name):
        return "only ASCII letters, digits, '.', '_' and '-' may be in it"
    return ""


def collision_key(name: str) -> str | None:
    """Return what colliding names have in common; None for a name that can collide with no other."""
    return name.replace(".", "_") if "." in name or "_" in name else None
