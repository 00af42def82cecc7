"""Work that chews CPU, done beside the loop and never in it: compaction, for one.

A job is told everything in plain values, works on files that nobody changes meanwhile, and says how far it is in steps.
`io` runs it in processes of their own, so that neither its computing nor its death is felt by the node; `sim` runs it
in the same process, a step at a time, and stops or kills it wherever the seed says.

    begin -> Stepped* -> Finished | Failed | Cancelled

Exactly one of the last three ends a job, also one that was cancelled: it may have come to its end before it heard of
it. Until then its files may still change. One thread calls all of this, and nothing here waits, but for `stop`.
"""

from typing import NamedTuple, NewType, Protocol

from tidelog.ports.errors import StorageFault

WorkId = NewType("WorkId", int)

# The `fileno` of an implementation that can not be watched: its events are there whenever they are asked for.
NOT_WATCHABLE = -1


class Stepped(NamedTuple):
    work: WorkId
    step: object  # what the job yielded; steps come in its order


class Finished(NamedTuple):
    work: WorkId
    result: object


class Failed(NamedTuple):
    work: WorkId
    reason: str
    fault: StorageFault | None = None  # where the disk was the reason
    worker_died: bool = False  # the job ended with its worker, and could not clear away what it was writing


class Cancelled(NamedTuple):
    """The end of a job that was cancelled in time, and has cleared away what it was writing."""

    work: WorkId


Event = Stepped | Finished | Failed | Cancelled


class Housekeeping(Protocol):
    def begin(self, job: object) -> WorkId:
        """Begin a job. Each has a worker for itself, so the caller has to count how many there are. Ids are never
        reused."""
        ...

    def cancel(self, work: WorkId) -> None:
        """Have the job end soon, if it is still under way."""
        ...

    def kill(self, work: WorkId) -> None:
        """End the worker of this job on the spot, whatever it is doing and even if it does nothing any more. If the job
        is still under way it ends as Failed, `worker_died`."""
        ...

    def events(self) -> list[Event]:
        """Return what happened since the last call; never waits."""
        ...

    @property
    def has_events(self) -> bool:
        """Tell whether there are events that `fileno` does not tell of: of a job for which no worker could be started.
        Ask before waiting for anything else."""
        ...

    def fileno(self) -> int:
        """A descriptor for a poll, readable when workers have events; NOT_WATCHABLE where there is nothing to watch."""
        ...

    def stop(self) -> None:
        """End every worker, whatever it is doing; waits until none is left. Their jobs end without an event."""
        ...
