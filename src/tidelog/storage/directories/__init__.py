"""The logs of a broker over its log directories: loading, housekeeping, moves, room on the disk, failed syncs."""
