"""Faults on demand: which operation fails, on which paths, from when and how often.

A rule is consumed by the operations that it matches, in the order the rules were added, so a test can say "the third
sync under this directory fails". A disk that is `dead` fails everything.
"""

from dataclasses import dataclass
from enum import Enum

from tidelog.ports.errors import IoError, StorageFault


class Op(Enum):
    OPEN = "open"
    READ = "read"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    SYNC_DIRECTORY = "sync-directory"
    NAMES = "names"  # creating, removing and renaming, and setting the time of files
    LOOK = "look"  # stat, list, space


@dataclass(slots=True)
class Rule:
    op: Op
    under: str
    fault: type[StorageFault]
    skip: int
    times: int | None  # None: for ever

    def strikes(self, op: Op, path: str) -> bool:
        if op is not self.op or not (path == self.under or path.startswith(self.under.rstrip("/") + "/")):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            if not self.times:
                return False
            self.times -= 1
        return True


class Faults:
    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.dead = False

    def fail(
        self,
        op: Op,
        under: str = "/",
        *,
        fault: type[StorageFault] = IoError,
        skip: int = 0,
        times: int | None = 1,
    ) -> None:
        """Let the operation fail on `under` and everything below it, after `skip` that work, `times` times."""
        self.rules.append(Rule(op, under, fault, skip, times))

    def heal(self) -> None:
        self.rules.clear()
        self.dead = False

    def check(self, op: Op, path: str) -> None:
        """Raise what the operation is to fail with, if anything."""
        if self.dead:
            raise IoError(path, f"simulated: the disk is dead ({op.value})")
        for rule in self.rules:
            if rule.strikes(op, path):
                raise rule.fault(path, f"simulated fault ({op.value})")
