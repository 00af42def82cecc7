"""A directory that is made together with its first files, written once over the port like `durable`.

Nothing is synced: names and bytes are durable when whoever uses them syncs them. A process that dies leaves any
beginning of the sequence; want of room or of descriptors leaves nothing, unless even the removal fails.
"""

from collections.abc import Generator, Mapping
from contextlib import suppress

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import DiskFull, NotFound, StorageFault, TooManyOpenFiles
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.paths import join


def make_filled_directory(fs: FileSystem, path: str, files: Mapping[str, bytes]) -> None:
    """Make the directory, then its files in this order. Where it is there already, raises AlreadyExists and touches
    nothing."""
    for _ in filled_directory_steps(fs, path, files):
        pass


def filled_directory_steps(fs: FileSystem, path: str, files: Mapping[str, bytes]) -> Generator[None, None, None]:
    """Do what `make_filled_directory` does; each yield is a moment at which the process may die, and the simulator
    stops there."""
    fs.make_directory(path)
    try:
        for name, contents in files.items():
            yield
            file = fs.open(join(path, name), OpenMode.CREATE_NEW)
            try:
                if contents:
                    yield
                    write_fully(file, 0, [contents])
            finally:
                file.close()
    except (DiskFull, TooManyOpenFiles):
        with suppress(StorageFault):
            _take_away(fs, path, files)
        raise


def _take_away(fs: FileSystem, path: str, files: Mapping[str, bytes]) -> None:
    for name in files:
        with suppress(NotFound):
            fs.remove_file(join(path, name))
    fs.remove_directory(path)
