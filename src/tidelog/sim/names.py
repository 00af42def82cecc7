"""The directory tree of one simulated disk: what names are seen, and which of them a power loss leaves.

The model is POSIX read without kindness. An operation on names (a new file or directory, a removal, a rename) is
atomic: after a crash it has happened or it has not, and a rename never leaves both names or neither. Each is durable
once a directory that it touched has been synced; until then each survives or vanishes on its own, whatever the order
they were done in and whatever was synced of the files themselves. Journaling file systems keep more of the order than
this; nobody may rely on it.

Order is kept only where losing it would lose a file that nobody removed: a later change of a name never survives
without the earlier ones, nor the removal of a directory, or a move into one, without what was done there before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

Entry = tuple[int, str]  # a directory's inode number, a name in it
ROOT = 1


@dataclass(slots=True)
class NameChange:
    """Entries that change together: each to the inode it names from then on, or to None."""

    description: str
    entries: dict[Entry, int | None]
    after: tuple[int, ...] = ()  # directories: earlier changes in them, and of their own names, come first

    def touches(self, directory: int) -> bool:
        return any(entry[0] == directory for entry in self.entries)


@dataclass(slots=True)
class Tree:
    """The directories by inode number, each a dict of names. Files are only numbers here."""

    directories: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})

    def copy(self) -> "Tree":
        return Tree({number: dict(names) for number, names in self.directories.items()})

    def apply(self, change: NameChange) -> None:
        for (directory, name), inode in change.entries.items():
            names = self.directories[directory]
            if inode is None:
                names.pop(name, None)
            else:
                names[name] = inode

    def reachable(self, directory: int = ROOT) -> list[int]:
        """Return every inode that a path leads to, in the tree's own order."""
        found = [directory]
        for inode in self.directories[directory].values():
            found.extend(self.reachable(inode) if inode in self.directories else [inode])
        return found


class Names:
    def __init__(self) -> None:
        self.seen = Tree()
        self.durable = Tree()
        self.unsynced: list[NameChange] = []

    def add_directory(self, number: int) -> None:
        """Add the inode of a directory; its name is a change like any other. An inode that no name leads to costs
        nothing, so it may be durable at once."""
        self.seen.directories[number] = {}
        self.durable.directories[number] = {}

    def change(self, change: NameChange) -> None:
        self.seen.apply(change)
        self.unsynced.append(change)

    def sync(self, directory: int) -> None:
        """Make every change that touched the directory durable."""
        for change in self.take(directory):
            self.durable.apply(change)

    def take(self, directory: int) -> list[NameChange]:
        """Return the changes that a sync of the directory covers, which are no longer unsynced."""
        return self._take(lambda change: change.touches(directory))

    def lose_power(self, survives: Callable[[NameChange], bool]) -> None:
        for change in self._take(survives):
            self.durable.apply(change)
        self.unsynced = []
        self._forget_unreachable()
        self.seen = self.durable.copy()

    def _take(self, chosen: Callable[[NameChange], bool]) -> list[NameChange]:
        """Return the chosen changes and, for each, those that must come before it. Without them a file that went from a
        to b and then to c would come back under both a and c."""
        causes = _Causes()
        taken: list[NameChange] = []
        kept: list[NameChange] = []
        for change in reversed(self.unsynced):
            if chosen(change) or causes.include(change):
                causes.add_those_of(change)
                taken.append(change)
            else:
                kept.append(change)
        self.unsynced = kept[::-1]
        return taken[::-1]

    def _forget_unreachable(self) -> None:
        reachable = dict.fromkeys(self.durable.reachable())
        self.durable.directories = {
            number: names for number, names in self.durable.directories.items() if number in reachable
        }


class _Causes:
    """The entries and directories whose earlier changes the changes taken so far, latest first, require."""

    def __init__(self) -> None:
        self.entries: dict[Entry, None] = {}
        self.directories: dict[int, None] = {}

    def include(self, change: NameChange) -> bool:
        return any(
            entry in self.entries or entry[0] in self.directories for entry in change.entries
        ) or self._names_directory(change)

    def _names_directory(self, change: NameChange) -> bool:
        return any(number in self.directories for number in change.entries.values())

    def add_those_of(self, change: NameChange) -> None:
        if self._names_directory(change):  # a directory that must be there needs its parents, too
            self.directories.update(dict.fromkeys(entry[0] for entry in change.entries))
        self.entries.update(dict.fromkeys(change.entries))
        self.directories.update(dict.fromkeys(change.after))
