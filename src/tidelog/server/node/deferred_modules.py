"""The modules that a node imports when they are first needed, and not before it answers its first client; and which
imports that fail are worth another try.

In an order in which each brings few others with it, so that importing them one by one (`io.preloading`) takes no turn
that a client would notice; a test counts what each of them brings.
"""

from typing import Final

from tidelog.server.requests.registry import MODULES

# The system's words for EMFILE, ENFILE and ENOMEM, as a loader of libraries passes them on.
_SHORTAGES: Final = ("Too many open files", "Cannot allocate memory")

COORDINATORS: Final = (
    "tidelog.coordinator.group.records.classic",
    "tidelog.coordinator.group.records.consumer",
    "tidelog.coordinator.group.records.share",
    "tidelog.coordinator.group.records.streams",
    "tidelog.coordinator.group.classic.member",
    "tidelog.coordinator.group.classic.group",
    "tidelog.coordinator.group.consumer.group",
    "tidelog.coordinator.group.assignors",
    "tidelog.coordinator.group.consumer.target",
    "tidelog.coordinator.group.consumer.migration",
    "tidelog.coordinator.group.consumer.classic_members",
    "tidelog.coordinator.group.consumer.handlers",
    "tidelog.coordinator.group.classic.handlers",
    "tidelog.coordinator.group.offsets.fetch",
    "tidelog.coordinator.group.offsets.handlers",
    "tidelog.coordinator.group.coordinator",
    "tidelog.coordinator.transaction.metadata",
    "tidelog.coordinator.transaction.coordinator",
    "tidelog.server.coordination.running_coordinator",
    "tidelog.server.coordination.group_coordinators",
    "tidelog.server.coordination.transaction_coordinators",
)
# What the standard library brings for a worker process, for names of settings that are near, and for their values.
LIBRARIES: Final = ("subprocess", "pickle", "decimal", "difflib")
METRICS: Final = ("tidelog.server.metrics.groups", "tidelog.server.metrics.logs", "tidelog.server.metrics.catalogue")


def deferred_modules(*, has_metrics: bool) -> list[str]:
    """What is asked for first comes first: producers and consumers, then groups, then the tools of administrators."""
    handlers = [f"tidelog.server.handlers.{module}" for module in dict.fromkeys(MODULES.values())]
    return [*handlers[:5], *COORDINATORS, *handlers[5:], *LIBRARIES, *(METRICS if has_metrics else ())]


def is_shortage(error: BaseException | None) -> bool:
    """Whether an import failed for a reason that passes. A file that can not be opened is an OSError; an extension
    module whose library can not be loaded is an ImportError with the system's text in it."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        if isinstance(error, ImportError) and any(each in str(error) for each in _SHORTAGES):
            return True
        error = error.__cause__ or error.__context__
    return False
