"""`bootstrap.checkpoint`: the first records of a new cluster, in the form of a snapshot. `format` leaves one in every
log directory; the first controller appends them to the empty log (`controller.activation`).
"""

from collections.abc import Sequence
from typing import Final

from tidelog.metadata.bootstrap import bootstrap_records, initial_feature_levels
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.ports.durable import replace_durably
from tidelog.ports.errors import NotFound
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.server.metadata_log.snapshot_writer import STATIC_QUORUM, snapshot_contents
from tidelog.server.metadata_log.snapshots import read_snapshot

BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
_EPOCH: Final = 0
_NO_LOG: Final = 0  # the time of the last record of a log that is empty
_BATCH_BYTES: Final = 1 << 20


def write_bootstrap(fs: FileSystem, log_dir: str, records: Sequence[MetadataRecord], wall_ms: int) -> None:
    contents = snapshot_contents(_EPOCH, _NO_LOG, STATIC_QUORUM, records, wall_ms, _BATCH_BYTES)
    replace_durably(fs, join(log_dir, BOOTSTRAP_CHECKPOINT), b"".join(contents))


def read_bootstrap(fs: FileSystem, log_dir: str) -> list[MetadataRecord]:
    """Read the first records of the cluster. Without a file, return those of this release's newest cluster, as Kafka
    does."""
    path = join(log_dir, BOOTSTRAP_CHECKPOINT)
    try:
        return [record for batch in read_snapshot(fs, path) for record in batch.records]
    except NotFound:
        return bootstrap_records(initial_feature_levels())
