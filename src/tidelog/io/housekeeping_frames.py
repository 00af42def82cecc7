"""What a node and its housekeeping processes say to each other: frames on a socket, a length and a pickled value.

Pickle, because both ends are this very code on this very machine, one started by the other: there is nobody in between
to be suspicious of. A fault of the disk travels as text, for an exception does not survive being pickled.
"""

from struct import Struct
from typing import Final, NamedTuple

from tidelog.ports import errors
from tidelog.ports.errors import StorageFault
from tidelog.ports.housekeeping import Failed, WorkId

_LENGTH: Final = Struct("<I")


class Begin(NamedTuple):
    work: WorkId
    job: object


class Cancel(NamedTuple):
    work: WorkId


class FailedAsText(NamedTuple):
    work: WorkId
    reason: str
    fault_type: str  # empty: it was no StorageFault
    path: str
    detail: str


def encode(value: object) -> bytes:
    import pickle  # imported with the first job: see `deferred_modules`

    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


class FrameDecoder:
    """A decoder of frames: bytes in, values out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[object]:
        self._buffer += data
        values = []
        while (value := self._next()) is not None:
            values.append(value)
        return values

    def _next(self) -> object | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) < end:
            return None
        import pickle

        value: object = pickle.loads(memoryview(self._buffer)[_LENGTH.size : end].tobytes())
        del self._buffer[:end]
        return value


def failure_as_text(work: WorkId, error: BaseException) -> FailedAsText:
    if isinstance(error, StorageFault):
        return FailedAsText(work, str(error), type(error).__name__, error.path, error.detail)
    return FailedAsText(work, f"{type(error).__name__}: {error}", "", "", "")


def failure_from_text(text: FailedAsText) -> Failed:
    """Return the failure. A fault whose kind is not defined among the ports' errors (they have subclasses elsewhere)
    becomes an IoError."""
    if not text.fault_type:
        return Failed(text.work, text.reason)
    kind = getattr(errors, text.fault_type, errors.IoError)
    if not (isinstance(kind, type) and issubclass(kind, StorageFault)) or kind is errors.LockHeld:
        kind = errors.IoError
    return Failed(text.work, text.reason, kind(text.path, text.detail))
