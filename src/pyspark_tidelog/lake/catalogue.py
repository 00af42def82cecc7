"""Every option of an archive that is not the source's, declared once."""

from typing import Final

from pyspark_tidelog.declared import Declared, by_name

_TO = """\
set by `archive` and `start_archive`: the directory of the archive, on a POSIX file system that driver and executors \
have mounted"""
_NAME = """\
set by `archive` and `start_archive`: who archives. A batch is known by this name and its number, so two queries that \
archive to one directory have two names"""
_ENCODING = """\
`tidelog`: what suits records (no dictionaries of keys and values, offsets and times as differences). `spark`: \
dictionaries and statistics of Spark's own writer"""
_LEVEL = "of `zstd` (-7 to 22; otherwise 1) or `gzip` (1 to 9)"
_ROWS = "rows of a row group; one of 64 MB is written before it has so many"

LAKE_OPTIONS: Final = by_name(
    (
        Declared("archiveTo", "", _TO),
        Declared("archiveName", "", _NAME),
        Declared("archiveEncoding", "tidelog", _ENCODING),
        Declared("archiveCompression", "zstd", "`zstd`, `snappy`, `gzip`, `lz4` or `none`"),
        Declared("archiveCompressionLevel", "", _LEVEL),
        Declared("archiveRowGroupRows", "100000", _ROWS),
    )
)
