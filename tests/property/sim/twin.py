"""A file system as a dictionary, so simple that it is obviously right."""

from tidelog.ports.errors import AlreadyExists, NotEmpty, NotFound, WrongKind
from tidelog.ports.paths import name_of, parent_of

ROOT = "/disk"


class Twin:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.directories: list[str] = [ROOT]

    def below(self, path: str) -> list[str]:
        return [each for each in [*self.files, *self.directories] if each.startswith(path + "/")]

    def check_parents(self, path: str) -> None:
        for end in range(len(ROOT), len(path)):
            if path[end] == "/" and path[:end] not in self.directories:
                raise (WrongKind if path[:end] in self.files else NotFound)(path[:end], "twin")

    def check_exists(self, path: str) -> None:
        self.check_parents(path)
        if path not in self.files and path not in self.directories:
            raise NotFound(path, "twin")

    def write(self, path: str, position: int, data: bytes) -> None:
        self.check_parents(path)
        if path in self.directories:
            raise WrongKind(path, "twin")
        old = self.files.get(path, b"")
        if data:
            old = old.ljust(position, b"\0")
            old = old[:position] + data + old[position + len(data) :]
        self.files[path] = old

    def truncate(self, path: str, size: int) -> None:
        self.check_file(path)
        self.files[path] = self.files[path][:size].ljust(size, b"\0")

    def check_file(self, path: str) -> None:
        self.check_exists(path)
        if path in self.directories:
            raise WrongKind(path, "twin")

    def make_directory(self, path: str) -> None:
        self.check_parents(path)
        if path in self.files or path in self.directories:
            raise AlreadyExists(path, "twin")
        self.directories.append(path)

    def remove_file(self, path: str) -> None:
        self.check_file(path)
        del self.files[path]

    def remove_directory(self, path: str) -> None:
        self.check_exists(path)
        if path in self.files:
            raise WrongKind(path, "twin")
        if self.below(path):
            raise NotEmpty(path, "twin")
        self.directories.remove(path)

    def rename(self, source: str, target: str) -> None:
        self.check_parents(source)
        self.check_parents(target)
        self.check_exists(source)
        if source == target:
            return
        if target in self.files or target in self.directories:
            self._replace(source, target)
        self.files = {move(path, source, target): data for path, data in self.files.items()}
        self.directories = [move(path, source, target) for path in self.directories]

    def _replace(self, source: str, target: str) -> None:
        if (source in self.files) != (target in self.files):
            raise WrongKind(target, "twin")
        if target in self.files:
            del self.files[target]
        elif self.below(target):
            raise NotEmpty(target, "twin")
        else:
            self.directories.remove(target)

    def list_directory(self, path: str) -> list[str]:
        self.check_exists(path)
        if path in self.files:
            raise WrongKind(path, "twin")
        return sorted(name_of(each) for each in self.below(path) if parent_of(each) == path)


def move(path: str, source: str, target: str) -> str:
    moves = path == source or path.startswith(source + "/")
    return target + path[len(source) :] if moves else path
