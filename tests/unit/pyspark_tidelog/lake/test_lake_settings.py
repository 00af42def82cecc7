"""Names, places and options of an archive."""

import pytest

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.lake.archiving import archive_name
from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.files import local_path
from pyspark_tidelog.lake.layout import is_archive_name, parse_file_name
from pyspark_tidelog.lake.manifest import parse_manifest
from pyspark_tidelog.lake.parquet_settings import ParquetSettings, parquet_settings


def test_a_query_has_the_name_of_its_checkpoint_however_that_is_written() -> None:
    names = {
        archive_name(path) for path in ("/state/events", "/state/events/", "file:/state/events", "file:///state/events")
    }
    assert len(names) == 1
    (name,) = names
    assert name.startswith("events-")
    assert name != archive_name("/other/events")
    assert is_archive_name(name)


@pytest.mark.parametrize("checkpoint", ["/", "s3a://bucket/ä b/../x=1", "hdfs://h/" + "long" * 200, "relative"])
def test_the_name_can_always_stand_in_a_path(checkpoint: str) -> None:
    assert is_archive_name(archive_name(checkpoint))


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a b", "x" * 201])
def test_names_that_can_not_stand_in_a_path(name: str) -> None:
    assert not is_archive_name(name)


def test_directories() -> None:
    assert local_path("/lake") == "/lake"
    assert local_path("file:///lake") == "/lake"
    assert local_path("file:/lake") == "/lake"
    assert local_path("lake/here") == "lake/here"


@pytest.mark.parametrize("directory", ["s3a://bucket/lake", "hdfs://h/lake", ""])
def test_an_object_store_is_refused(directory: str) -> None:
    with pytest.raises(OptionError, match=r"archiveTo: .*POSIX"):
        local_path(directory)


def test_only_our_files_are_ours() -> None:
    assert parse_file_name("00-0010.parquet") == (0, 10)
    for name in ("0-10.parquet.crc", "part-0.parquet", "0-10.parquet.tmp", "_0-10.parquet"):
        assert parse_file_name(name) is None


def test_defaults_and_choices() -> None:
    assert parquet_settings({}) == ParquetSettings()
    chosen = parquet_settings(
        {"archiveEncoding": "Spark", "archiveCompressionLevel": "9", "archiveRowGroupRows": "5000"}
    )
    assert chosen == ParquetSettings("spark", "zstd", 9, 5000)
    assert chosen.writer_arguments(["value"])["compression_level"] == 9
    assert ParquetSettings("spark").writer_arguments([])["compression_level"] == 1
    assert ParquetSettings(compression="snappy").writer_arguments([])["compression_level"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"archiveEncoding": "csv"}, "archiveEncoding: 'csv' is not possible; choose tidelog or spark"),
        ({"archiveCompression": "brotli"}, "archiveCompression: 'brotli' is not possible"),
        (
            {"archiveCompressionLevel": "23"},
            "archiveCompressionLevel: 23 is out of range; choose a number from -7 to 22",
        ),
        ({"archiveCompression": "lz4", "archiveCompressionLevel": "1"}, "archiveCompressionLevel: lz4 has no levels"),
        ({"archiveRowGroupRows": "many"}, "archiveRowGroupRows: 'many' is not a whole number"),
        ({"archiveRowGroupRows": "0"}, "archiveRowGroupRows: 0 is out of range; choose a number from 1"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parquet_settings(options)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"version": 1, "ranges": [{}]}'])
def test_a_manifest_that_is_none_is_named(content: bytes) -> None:
    with pytest.raises(LakeError, match=r"_tidelog/x\.json is not a manifest"):
        parse_manifest(content, "_tidelog/x.json")


def test_a_manifest_of_a_later_version_is_not_guessed_at() -> None:
    with pytest.raises(LakeError, match="has version 2"):
        parse_manifest(b'{"version": 2}', "_tidelog/x.json")
