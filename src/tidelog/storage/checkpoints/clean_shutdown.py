"""`.kafka_cleanshutdown`: everything in this log directory was on disk when the broker of this epoch stopped.

It is written last when a node stops, and must be gone, durably, before a log is written after the next start: were it
to come back with a power loss, a torn log would be taken for a whole one. A start that is refused leaves it there.
"""

import json
from typing import Final, NamedTuple

from tidelog.ports.durable import replace_durably
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.errors import CorruptCleanShutdownError
from tidelog.storage.checkpoints.small_files import read_if_present, remove_if_present

CLEAN_SHUTDOWN_MARKER: Final = ".kafka_cleanshutdown"
VERSION: Final = 0


class CleanShutdown(NamedTuple):
    broker_epoch: int | None  # None: an Apache broker before 3.8 left an empty file


def read_clean_shutdown(fs: FileSystem, directory: str) -> CleanShutdown | None:
    """Return the marker of a clean stop, or None after an unclean one. Raises CorruptCleanShutdownError for a marker
    that can not be read: the caller takes the stop for unclean then, because a scan costs time and a wrong trust costs
    data."""
    path = join(directory, CLEAN_SHUTDOWN_MARKER)
    contents = read_if_present(fs, path)
    return None if contents is None else decode_clean_shutdown(contents, path)


def write_clean_shutdown(fs: FileSystem, directory: str, broker_epoch: int) -> None:
    replace_durably(fs, join(directory, CLEAN_SHUTDOWN_MARKER), encode_clean_shutdown(broker_epoch))


def remove_clean_shutdown(fs: FileSystem, directory: str) -> None:
    """Remove the marker, if it is there; the removal is durable when this returns."""
    if remove_if_present(fs, join(directory, CLEAN_SHUTDOWN_MARKER)):
        fs.sync_directory(directory)


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    content = {"version": VERSION, "brokerEpoch": broker_epoch}
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def decode_clean_shutdown(contents: bytes, path: str) -> CleanShutdown:
    """Decode a marker of any version: later versions only add fields."""
    if not contents:
        return CleanShutdown(None)
    try:
        content = json.loads(contents)
    except ValueError as error:
        raise CorruptCleanShutdownError(path, f"not JSON: {error}") from error
    broker_epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    if type(broker_epoch) is not int:
        raise CorruptCleanShutdownError(path, "no broker epoch in it")
    return CleanShutdown(broker_epoch)
