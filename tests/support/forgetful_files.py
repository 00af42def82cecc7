"""A file system of the lake's port in memory, which forgets at a power loss what was not synced.

Content and names are durable apart: `sync` makes the content of a file durable, `sync_directory` the names in a
directory. A crash is raised before the n-th operation that changes anything. Then `killed` returns the files as after
the death of the process, `unplugged` as after a power loss. A real file system lies in between.
"""

from copy import deepcopy


class Crash(BaseException):
    """The death of the process, which nothing may catch."""


class File:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.synced: bytes | None = None


class ForgetfulFiles:
    def __init__(self, crash_before: int | None = None) -> None:
        self.directories: dict[str, dict[str, File | None]] = {"": {}}  # by name: a file, or None for a directory
        self.durable: dict[str, dict[str, File | None]] = {"": {}}
        self.steps = 0
        self.crash_before = crash_before
        self.removed: list[str] = []

    def _step(self) -> None:
        if self.steps == self.crash_before:
            raise Crash
        self.steps += 1

    # The port

    def names(self, directory: str) -> list[str]:
        return sorted(self.directories.get(directory, ()))

    def exists(self, path: str) -> bool:
        directory, name = split(path)
        return name in self.directories.get(directory, ())

    def size(self, path: str) -> int:
        return len(self.read(path))

    def read(self, path: str) -> bytes:
        directory, name = split(path)
        file = self.directories[directory][name]
        assert file is not None
        return file.content

    def write(self, path: str, content: bytes) -> None:
        self._step()
        directory, name = split(path)
        self.directories[directory][name] = File(content)

    def make_directory(self, path: str) -> None:
        self._step()
        parts = path.split("/")
        for depth in range(len(parts)):
            above, name = "/".join(parts[:depth]), parts[depth]
            self.directories[above].setdefault(name, None)
            self.directories.setdefault("/".join(parts[: depth + 1]), {})

    def sync(self, path: str) -> None:
        self._step()
        directory, name = split(path)
        file = self.directories[directory][name]
        assert file is not None
        file.synced = file.content

    def sync_directory(self, path: str) -> None:
        self._step()
        self.durable[path] = dict(self.directories[path])

    def rename(self, source: str, target: str) -> None:
        self._step()
        directory, name = split(source)
        file = self.directories[directory].pop(name)
        directory, name = split(target)
        self.directories[directory][name] = file

    def remove(self, path: str) -> None:
        self._step()
        directory, name = split(path)
        self.directories[directory].pop(name, None)
        self.removed.append(path)

    # After a crash

    def killed(self) -> "ForgetfulFiles":
        after = ForgetfulFiles()
        after.directories, after.durable = deepcopy((self.directories, self.durable))
        return after

    def unplugged(self) -> "ForgetfulFiles":
        after = ForgetfulFiles()
        reached = [""]
        for directory in reached:
            entries = deepcopy(self.durable.get(directory, {}))
            for name, file in entries.items():
                if file is None:
                    reached.append(f"{directory}/{name}".lstrip("/"))
                else:
                    file.content = file.synced or b""
            after.directories[directory] = entries
        after.durable = deepcopy(after.directories)
        return after


def split(path: str) -> tuple[str, str]:
    directory, _, name = path.rpartition("/")
    return directory, name
