"""Our replay of metadata records and Apache's give the same images, each from the other's records."""

import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop.apache.conftest import ApacheDirectory
from tests.interop.apache.jars import run_tool
from tests.property.metadata import twin
from tests.property.metadata.valid_records import KINDS
from tests.unit.metadata.built import metadata_version

from tidelog.metadata.bootstrap import bootstrap_records
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.record_framing import MetadataRecord, decode_metadata_record, encode_metadata_record
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.records.cluster import FeatureLevelRecord
from tidelog.metadata.snapshot_records import image_records
from tidelog.records.batch import batches

ECHO = Path(__file__).parent / "ImageEcho.java"
SEQUENCES = 15
RECORDS_A_SEQUENCE = 120


def image_of(records: Iterable[MetadataRecord]) -> MetadataImage:
    draft = MetadataDraft()
    for message, _ in records:
        draft.replay(message)
    return draft.freeze(1, 1, 1)


def random_log(seed: int) -> list[MetadataRecord]:
    """Return random metadata records with ELR enabled: without it Apache leaves eligible leader replicas out of its
    snapshots."""
    rng = random.Random(seed)
    plain = twin.empty()
    messages: list[Any] = []
    following: Any = metadata_version()
    while len(messages) < RECORDS_A_SEQUENCE:
        if following is not None:
            plain = twin.after(plain, following)
            messages.append(following)
        following = rng.choice(KINDS)(rng, plain)
        if len(messages) == 1:
            following = FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)
    return [MetadataRecord(message, record_version(type(message), 30)) for message in messages]


def through_apache(jars: Path, directory: Path, sequences: list[list[MetadataRecord]]) -> list[list[MetadataRecord]]:
    """Return the records of the image that Apache makes of each sequence."""
    if shutil.which("javac") is None:
        pytest.skip("APACHE'S IMAGE WAS NOT COMPARED WITH OURS: a program of the tests needs a JDK, this is a JRE")
    framed = [[*(encode_metadata_record(*record) for record in sequence), b""] for sequence in sequences]
    lines = [len(each).to_bytes(4, "big") + each for sequence in framed for each in sequence]
    (directory / "in").write_bytes(b"".join(lines))
    run_tool(jars, str(ECHO), str(directory / "in"), str(directory / "out"))
    return list(_sequences((directory / "out").read_bytes()))


def _sequences(written: bytes) -> Iterator[list[MetadataRecord]]:
    position = 0
    sequence: list[MetadataRecord] = []
    while position < len(written):
        start = position + 4
        position = start + int.from_bytes(written[position:start], "big")
        if position == start:
            yield sequence
            sequence = []
        else:
            sequence.append(decode_metadata_record(written[start:position]))


def records_of(path: Path) -> list[MetadataRecord]:
    """Return the metadata records of a segment or a snapshot."""
    data = [batch for batch in batches(path.read_bytes()) if not batch.header.is_control]
    return [decode_metadata_record(record.value) for batch in data for record in batch.records() if record.value]


def test_apache_makes_the_same_image_of_a_log_and_of_our_snapshot(jars: Path, tmp_path: Path) -> None:
    logs = [random_log(seed) for seed in range(SEQUENCES)]
    images = [image_of(log) for log in logs]
    snapshots = [list(image_records(image)) for image in images]
    theirs = through_apache(jars, tmp_path, logs + snapshots)
    assert [image_of(each) for each in theirs] == images + images
    assert [_comparable(each) for each in theirs] == [_comparable(each) for each in snapshots + snapshots]


def test_a_log_of_apaches_broker_comes_back_from_our_snapshot(
    jars: Path, written_by_apache: ApacheDirectory, tmp_path: Path
) -> None:
    (log,) = (written_by_apache.path / "__cluster_metadata-0").glob("*.log")
    image = image_of(records_of(log))
    assert {"plain", "packed", "ledger", "table"} <= set(image.topics.by_name)
    assert image.metadata_version == 30
    snapshot = list(image_records(image))
    assert image_of(snapshot) == image
    (theirs,) = through_apache(jars, tmp_path, [snapshot])
    assert image_of(theirs) == image
    assert _comparable(theirs) == _comparable(snapshot)


def test_bootstrap_records_are_those_of_kafka_storage(written_by_apache: ApacheDirectory) -> None:
    theirs = records_of(written_by_apache.path / "bootstrap.checkpoint")
    levels = {record.message.name: record.message.feature_level for record in theirs}
    assert levels["metadata.version"] == 30
    assert bootstrap_records(levels) == theirs


def _comparable(records: Iterable[MetadataRecord]) -> list[bytes]:
    """Return the records as bytes, sorted. Lists inside a record are sorted too, since their order is that of Java's
    hash maps."""
    for message, _ in (listed := list(records)):
        for name in ("log_dirs", "features", "end_points", "entity"):
            if hasattr(message, name):
                setattr(message, name, sorted(getattr(message, name), key=repr))
    return sorted(encode_metadata_record(*record) for record in listed)
