"""The paths in an archive, and what tasks tell the driver of the files that they have written."""

import re
from dataclasses import dataclass
from typing import Final

STAGING: Final = "_tidelog/staging"
INTENTS: Final = "_tidelog/intents"
MANIFESTS: Final = "_tidelog/manifests"
# Enough for any offset: a partition that gets a record every nanosecond needs 19 digits after three centuries. All
# names have the same length, so that they sort as offsets do.
DIGITS: Final = 20
_FILE: Final = re.compile(r"(\d+)-(\d+)\.parquet")
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")

ROW_SCHEMA: Final = (
    "topic string, topic_id string, partition int, from_offset long, until_offset long, rows long, bytes long, "
    "path string, min_timestamp_ms long, max_timestamp_ms long"
)


@dataclass(frozen=True, slots=True)
class ArchivedRange:
    """A range of offsets of one partition, and the file of a task with its records. The fields are the columns of the
    row that a task returns."""

    topic: str
    topic_id: str | None
    partition: int
    from_offset: int
    until_offset: int  # not included
    rows: int
    bytes: int
    path: str | None  # where the file is staged; None when the range has no records (compacted away, say)
    min_timestamp_ms: int | None
    max_timestamp_ms: int | None

    @property
    def directory(self) -> str:
        return partition_directory(self.topic, self.partition)

    @property
    def final_path(self) -> str:
        return f"{self.directory}/{self.from_offset:0{DIGITS}}-{self.until_offset:0{DIGITS}}.parquet"

    @property
    def topic_partition(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def contents(self) -> str:
        return f"offsets {self.from_offset} to {self.until_offset} of {self.topic_partition}"


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """Rows of a DataFrame, and the file of a task that holds them."""

    name: str
    batch_id: int
    part: int
    rows: int
    bytes: int
    path: str | None  # where the file is staged

    @property
    def directory(self) -> str:
        """The archive's own directory, which Spark reads as a table."""
        return ""

    @property
    def final_path(self) -> str:
        return f"{self.name}-{self.batch_id:0{DIGITS}}-{self.part:05}.parquet"

    @property
    def contents(self) -> str:
        return f"part {self.part} of batch {self.batch_id} of {self.name}"


def partition_directory(topic: str, partition: int) -> str:
    """Return the directory of a partition, named as Hive does: readers get the columns `topic` and `partition` from the
    path. No character of a topic's name needs to be escaped."""
    return f"topic={topic}/partition={partition}"


def parse_partition_directory(topic_name: str, partition_name: str) -> tuple[str, int] | None:
    topic, partition = topic_name.removeprefix("topic="), partition_name.removeprefix("partition=")
    if topic == topic_name or partition == partition_name or not partition.isdigit():
        return None
    return topic, int(partition)


def parse_file_name(name: str) -> tuple[int, int] | None:
    """Return the first offset of a file and the one after its last; None where the name is not one of an archive's
    files."""
    match = _FILE.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def is_archive_name(name: str) -> bool:
    """Tell whether a query's name can be part of a path."""
    return _NAME.fullmatch(name) is not None


def staging_directory(name: str) -> str:
    return f"{STAGING}/{name}"


def intent_path(name: str, batch_id: int) -> str:
    return f"{INTENTS}/{name}.{batch_id}.json"


def manifest_path(name: str, batch_id: int) -> str:
    return f"{MANIFESTS}/{name}/{batch_id}.json"
