"""Writes the file of a task, under a name that no other attempt has, and durable before the driver hears of it."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_tidelog.lake.files import LocalFiles
from pyspark_tidelog.lake.layout import staging_directory
from pyspark_tidelog.lake.parquet_settings import ParquetSettings
from pyspark_tidelog.lake.parquet_writing import Written, write_parquet

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    directory: str
    name: str
    parquet: ParquetSettings


@dataclass(frozen=True, slots=True)
class Staged:
    path: str | None  # None: there were no rows
    bytes: int
    written: Written


def stage(settings: ArchiveSettings, batches: Iterable["pa.RecordBatch"], footer: dict[str, str]) -> Staged:
    files = LocalFiles(settings.directory)
    staging = staging_directory(settings.name)
    path = f"{staging}/{uuid.uuid4().hex}.parquet"
    files.make_directory(staging)
    try:
        written = write_parquet(files.root / path, batches, settings.parquet, footer)
        if not written.rows:
            return Staged(None, 0, written)
        files.sync(path)
        files.sync_directory(staging)
    except BaseException:
        files.remove(path)
        raise
    return Staged(path, files.size(path), written)
