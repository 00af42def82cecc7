"""Paths are plain strings: absolute, `/` between names, nothing to resolve.

The layers below `io` may not import `os` or `pathlib`, and need no more than this. Both file systems refuse a path
with `.`, `..`, an empty name or a NUL: a topic name that smuggles one in must not work on one of them.
"""

import re

# One match, because a start with ten thousand partitions asks a hundred thousand times.
_NORMAL = re.compile(r"/|(?:/(?!\.{1,2}(?:/|\Z))[^/\0]+)+")


def check_path(path: str) -> None:
    """Raise ValueError unless the path is absolute and normal; `/` itself is."""
    if _NORMAL.fullmatch(path) is None:
        raise ValueError(f"not an absolute, normal path: {path!r}")


def join(directory: str, name: str) -> str:
    return f"/{name}" if directory == "/" else f"{directory}/{name}"


def parent_of(path: str) -> str:
    """The directory that holds the path's entry; `/` is its own."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    return path[path.rindex("/") + 1 :]


def check_rename(source: str, target: str) -> None:
    """Raise ValueError for a bad path, and for a directory that is to move into itself: a bug here, whatever a disk
    would say."""
    check_path(source)
    check_path(target)
    if target.startswith(source + "/"):
        raise ValueError(f"{source!r} can not move into itself: {target!r}")
