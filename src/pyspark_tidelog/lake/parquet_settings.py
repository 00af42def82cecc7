"""How records are encoded in Parquet. The encoding `tidelog` suits a log: keys and values seldom repeat, so a
dictionary of them is built in vain and their minima say nothing; offsets only grow, so their differences are tiny. The
encoding `spark` has the dictionaries and statistics of Spark's own writer, to compare like with like.

Both compress with zstd's level 1. Spark's is 3, which makes pages of a megabyte no smaller (JSON: 187 MB with level 1,
204 with 3), and takes up to three times as long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark_tidelog.declared import Given
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.lake.catalogue import LAKE_OPTIONS

ROWS: Final = 100_000  # of a row group
BYTES: Final = 64 << 20  # of a row group: records may be large
CODECS: Final = ("zstd", "snappy", "gzip", "lz4", "none")
WITH_LEVEL: Final = {"zstd": (-7, 22), "gzip": (1, 9)}
ENCODINGS: Final = ("tidelog", "spark")
ZSTD_LEVEL: Final = 1
GROWING: Final = ("offset", "timestamp")
FEW_VALUES: Final = ("topic", "partition", "timestampType")


@dataclass(frozen=True, slots=True)
class ParquetSettings:
    encoding: str = "tidelog"
    compression: str = "zstd"
    compression_level: int | None = None
    rows_max: int = ROWS
    bytes_max: int = BYTES

    def writer_arguments(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the keyword arguments of pyarrow's ParquetWriter for these columns."""
        level = ZSTD_LEVEL if self.compression == "zstd" else None
        common = {
            "compression": self.compression,
            "compression_level": level if self.compression_level is None else self.compression_level,
            "store_schema": False,
        }
        if self.encoding == "spark":
            return common | {"use_dictionary": True, "write_statistics": True}
        return common | {
            "use_dictionary": [name for name in columns if name in FEW_VALUES],
            "write_statistics": [name for name in columns if name in FEW_VALUES + GROWING],
            "column_encoding": {name: "DELTA_BINARY_PACKED" for name in columns if name in GROWING},
        }


def parquet_settings(options: Mapping[str, str]) -> ParquetSettings:
    given = Given(options, LAKE_OPTIONS)
    compression = given.choice("archiveCompression", CODECS)
    return ParquetSettings(
        encoding=given.choice("archiveEncoding", ENCODINGS),
        compression=compression,
        compression_level=_level(given, compression),
        rows_max=given.number("archiveRowGroupRows", 1),
    )


def _level(given: Given, compression: str) -> int | None:
    name = "archiveCompressionLevel"
    if name not in given:
        return None
    if compression not in WITH_LEVEL:
        raise OptionError(name, f"{compression} has no levels", f"leave it out, or choose {' or '.join(WITH_LEVEL)}")
    return given.number_or_none(name, *WITH_LEVEL[compression])
