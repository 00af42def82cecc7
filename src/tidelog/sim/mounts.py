"""Which disk a path lies on, and which entry of which directory it names there."""

from collections.abc import Mapping

from tidelog.ports.errors import NameTooLong, NotFound, PermissionRefused
from tidelog.ports.paths import check_path
from tidelog.sim.disk import SimDisk
from tidelog.sim.names import Entry

NAME_BYTES_MAX = 255


class Mounts:
    def __init__(self, disks: Mapping[str, SimDisk]) -> None:
        for mount in disks:
            check_path(mount)
        self.disks = dict(disks)

    def mount_of(self, path: str) -> str:
        """Return the longest mount point above the path. NotFound outside of all of them."""
        check_path(path)
        above = [mount for mount in self.disks if path == mount or path.startswith(mount.rstrip("/") + "/")]
        if not above:
            raise NotFound(path, "no disk is mounted there")
        return max(above, key=len)

    def disk_of(self, path: str) -> SimDisk:
        return self.disks[self.mount_of(path)]

    def lookup(self, path: str) -> tuple[SimDisk, int]:
        """Return the disk, and the inode that the path names."""
        disk = self.disk_of(path)
        return disk, disk.lookup(self._names(path), path)

    def entry(self, path: str) -> tuple[SimDisk, Entry]:
        """Return the disk, and the entry of the path, which need not exist, in a directory that does."""
        disk, names = self.disk_of(path), self._names(path)
        if not names:
            raise PermissionRefused(path, "is a mount point")
        directory = disk.lookup(names[:-1], path)
        disk.entries(directory, path)
        return disk, (directory, names[-1])

    def _names(self, path: str) -> list[str]:
        names = [name for name in path[len(self.mount_of(path)) :].split("/") if name]
        if any(len(name.encode()) > NAME_BYTES_MAX for name in names):
            raise NameTooLong(path, "a name of more than 255 bytes")
        return names
