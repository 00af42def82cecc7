"""Paths are plain strings: absolute, `/` between names, nothing to resolve.

The layers below `io` may not import `os` or `pathlib`, and need no more than this. Both file systems refuse a path
with `.`, `..`, an empty name or a NUL: a topic name that smuggles one in must not work on one of them.
"""


def check_path(path: str) -> None:
    """ValueError unless the path is absolute and normal; `/` itself is."""
    if path == "/":
        return
    names = path.split("/")
    if names[0] or len(names) < 2 or any(name in ("", ".", "..") for name in names[1:]) or "\0" in path:
        raise ValueError(f"not an absolute, normal path: {path!r}")


def join(directory: str, name: str) -> str:
    return f"/{name}" if directory == "/" else f"{directory}/{name}"


def parent_of(path: str) -> str:
    """The directory that holds the path's entry; `/` is its own."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    return path[path.rindex("/") + 1 :]


def check_rename(source: str, target: str) -> None:
    """ValueError also for a directory that is to move into itself: a bug here, whatever a disk would say."""
    check_path(source)
    check_path(target)
    if target.startswith(source + "/"):
        raise ValueError(f"{source!r} can not move into itself: {target!r}")
