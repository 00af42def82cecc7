"""Small files that can not be believed: what is wrong with which of them, as types.

They are no `StorageFault`: the disk answered, and what it answered makes no sense. Whoever reads one decides what
that costs: a snapshot falls back on an older one, a checkpoint on a full recovery, `meta.properties` on an offline
directory.
"""

from tidelog.storage.errors import LogError


class CorruptFileError(LogError):
    """`path` is the file, `reason` what does not fit."""


class CorruptCheckpointError(CorruptFileError):
    """One of the text files of offsets or epochs."""


class CorruptSnapshotError(CorruptFileError):
    """A producer snapshot: torn, damaged, or of a version that Kafka 4.3 does not read either."""


class CorruptMetaPropertiesError(CorruptFileError):
    """`meta.properties`, or several of them that contradict each other."""


class CorruptPartitionMetadataError(CorruptFileError):
    """`partition.metadata`."""


class CorruptCleanShutdownError(CorruptFileError):
    """The clean-shutdown marker."""
