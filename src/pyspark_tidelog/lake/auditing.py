"""Questions about an archive: does it agree with its manifests (`audit`), and up to which offsets does it go
(`archived_until`)?"""

from collections.abc import Iterator
from itertools import pairwise

from pyspark_tidelog.lake.files import LakeFiles, LocalFiles
from pyspark_tidelog.lake.layout import (
    INTENTS,
    MANIFESTS,
    ArchivedRange,
    WrittenPart,
    parse_file_name,
    parse_partition_directory,
    partition_directory,
)
from pyspark_tidelog.lake.manifest import Manifest, parse_manifest


def archived_until(directory: str) -> dict[str, dict[str, int]]:
    """Return the offset after the last archived one of each partition, in the JSON of `startingOffsets`. Only the names
    of the files are looked at, so an archive whose manifests were lost can be asked as well."""
    files = LocalFiles(directory)
    ends: dict[str, dict[str, int]] = {}
    for topic, partition in _partitions(files):
        spans = [span for name in files.names(partition_directory(topic, partition)) if (span := parse_file_name(name))]
        if spans:
            ends.setdefault(topic, {})[str(partition)] = max(until for _, until in spans)
    return ends


def manifests(files: LakeFiles) -> Iterator[Manifest]:
    for name in files.names(MANIFESTS):
        for each in files.names(f"{MANIFESTS}/{name}"):
            path = f"{MANIFESTS}/{name}/{each}"
            yield parse_manifest(files.read(path), path)


def audit(directory: str) -> list[str]:
    """Return what is wrong with an archive, one line for each problem: files that are missing, or in no manifest;
    offsets that are there twice, or in no batch; batches that are decided on and not done (the query finishes those
    when it is started again)."""
    files = LocalFiles(directory)
    batches = list(manifests(files))
    ranges = [each for batch in batches for each in batch.ranges]
    committed = [each for batch in batches for each in batch.files]
    unfinished = [f"{INTENTS}/{name}: decided on, not done" for name in files.names(INTENTS) if name.endswith(".json")]
    return [*unfinished, *_missing(files, committed), *_unknown(files, committed), *_seams(ranges)]


def _missing(files: LakeFiles, committed: list[ArchivedRange | WrittenPart]) -> Iterator[str]:
    for each in committed:
        if not files.exists(each.final_path):
            yield f"{each.final_path}: missing"
        elif (size := files.size(each.final_path)) != each.bytes:
            yield f"{each.final_path}: {size} bytes, committed with {each.bytes}"


def _unknown(files: LakeFiles, committed: list[ArchivedRange | WrittenPart]) -> Iterator[str]:
    known = {each.final_path for each in committed}
    for path in _data_files(files):
        if path not in known:
            yield f"{path}: in no manifest"


def _data_files(files: LakeFiles) -> Iterator[str]:
    yield from (name for name in files.names("") if name.endswith(".parquet"))
    for topic_partition in _partitions(files):
        directory = partition_directory(*topic_partition)
        yield from (f"{directory}/{name}" for name in files.names(directory))


def _seams(ranges: list[ArchivedRange]) -> Iterator[str]:
    in_order = sorted(ranges, key=lambda each: (each.topic, each.partition, each.from_offset))
    for before, after in pairwise(in_order):
        if before.directory != after.directory or before.until_offset == after.from_offset:
            continue
        problem = "twice" if after.from_offset < before.until_offset else "in no batch"
        first, last = sorted((after.from_offset, before.until_offset))
        yield f"{after.topic_partition}: offsets {first} to {last} are {problem}"


def _partitions(files: LakeFiles) -> Iterator[tuple[str, int]]:
    for topic_name in files.names(""):
        if not topic_name.startswith("topic="):
            continue
        for partition_name in files.names(topic_name):
            topic_partition = parse_partition_directory(topic_name, partition_name)
            if topic_partition is not None:
                yield topic_partition
