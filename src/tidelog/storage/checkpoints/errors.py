"""Small files that can not be believed: what is wrong with which of them, as types.

They are no `StorageFault`: the disk answered, and what it answered makes no sense. Whoever reads one decides what
that costs: a snapshot falls back on an older one, a checkpoint on a full recovery, `meta.properties` on an offline
directory.
"""

from tidelog.storage.errors import LogError


class CorruptFileError(LogError):
    """A small file that can not be believed: `path` is the file, `reason` what is wrong in it."""


class CorruptCheckpointError(CorruptFileError):
    """The error for one of the text files of offsets or epochs."""


class CorruptSnapshotError(CorruptFileError):
    """The error for a producer snapshot that is torn, damaged, or of a version that Kafka 4.3 does not read either."""


class CorruptMetaPropertiesError(CorruptFileError):
    """The error for a `meta.properties`, or for several of them that contradict each other."""


class CorruptPartitionMetadataError(CorruptFileError):
    """The error for a `partition.metadata`."""


class CorruptCleanShutdownError(CorruptFileError):
    """The error for a clean-shutdown marker."""
