"""What is found wrong, and how wrong it is."""

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    ERROR = "error"  # a promise is broken: data is damaged, missing or would be read wrongly
    WARNING = "warning"  # the next start of a broker repairs it, or it is only left over


@dataclass(slots=True)
class Finding:
    path: str
    reason: str
    position: int | None = None  # in the file, where it has one
    severity: Severity = Severity.ERROR

    @property
    def where(self) -> str:
        return self.path if self.position is None else f"{self.path} at {self.position}"

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.where}: {self.reason}"


def warning(path: str, reason: str, position: int | None = None) -> Finding:
    return Finding(path, reason, position, Severity.WARNING)
