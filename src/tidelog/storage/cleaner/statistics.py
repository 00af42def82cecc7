"""What one cleaning did, in numbers: for the log line at its end and for the metrics."""

from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True)
class CleanerStats:
    map_bytes_read: int = 0
    map_entries: int = 0
    map_slots: int = 0
    batches_read: int = 0
    records_read: int = 0
    records_kept: int = 0
    keyless_records: int = 0  # dropped: a compacted topic should have none
    bytes_read: int = 0  # in the second reading; the first is `map_bytes_read`
    bytes_written: int = 0
    segments_read: int = 0
    segments_written: int = 0

    @property
    def bytes_reclaimed(self) -> int:
        return self.bytes_read - self.bytes_written

    @property
    def map_utilization(self) -> float:
        """The share of the table that was used: the metric max-buffer-utilization-percent, as a fraction."""
        return self.map_entries / self.map_slots if self.map_slots else 0.0
