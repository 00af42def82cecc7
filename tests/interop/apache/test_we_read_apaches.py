"""A directory that Apache's broker wrote, in our dump and our verification, record for record."""

import json
from pathlib import Path

import pytest
from tests.interop.apache.conftest import ApacheDirectory
from tests.interop.apache.printed import apache_dump, facts_only, in_apaches_words, our_dump
from tests.interop.apache.workload import Written

from tidelog.cli.main import main
from tidelog.io.files import PosixFileSystem
from tidelog.storage.inspect.findings import Finding, Severity
from tidelog.storage.inspect.log_check import LogSummary
from tidelog.storage.inspect.verify import VerifyOptions, verify_directory

TOPICS = ("plain", "packed", "ledger", "table")


def records_of(directory: Path, topic: str) -> list[Written]:
    rows = [row for log in sorted((directory / f"{topic}-0").glob("*.log")) for row in our_dump(log)]
    return [
        Written(
            row.values["offset"],  # type: ignore[arg-type]
            row.values["timestamp"],  # type: ignore[arg-type]
            row.values["key"],  # type: ignore[arg-type]
            row.values["value"],  # type: ignore[arg-type]
            tuple((key, value) for key, value in row.values["headers"]),  # type: ignore[attr-defined]
        )
        for row in rows
        if row.kind == "record" and not row.values["meaning"]
    ]


@pytest.mark.parametrize("topic", ["plain", "packed", "ledger"])
def test_every_record_is_there(written_by_apache: ApacheDirectory, topic: str) -> None:
    assert records_of(written_by_apache.path, topic) == written_by_apache.expected[topic]


def test_of_a_compacted_topic_the_last_of_each_key_is_there(written_by_apache: ApacheDirectory) -> None:
    written = written_by_apache.expected["table"]
    cleaned = {each.key: each for each in written if each.offset < 300}  # the rest is the active segment
    expected = sorted(cleaned.values(), key=lambda each: each.offset) + [each for each in written if each.offset >= 300]
    assert records_of(written_by_apache.path, "table") == expected


def test_verification_finds_nothing_wrong(written_by_apache: ApacheDirectory) -> None:
    items = list(verify_directory(PosixFileSystem(), str(written_by_apache.path), VerifyOptions(check_records=True)))
    errors = [str(item) for item in items if isinstance(item, Finding) and item.severity is Severity.ERROR]
    assert not errors
    ends = {Path(item.path).name: item.log_end_offset for item in items if isinstance(item, LogSummary)}
    assert {name: ends[name] for name in ("plain-0", "packed-0", "ledger-0", "table-0")} == {
        "plain-0": 1500,
        "packed-0": 1000,
        "ledger-0": 126,
        "table-0": 400,
    }


def test_both_dumps_agree_on_every_batch_and_record(jars: Path, written_by_apache: ApacheDirectory) -> None:
    logs = sorted(written_by_apache.path.glob("*/*.log"))
    assert len(logs) >= 10
    for path, lines in apache_dump(jars, logs, "--deep-iteration").items():
        assert in_apaches_words(our_dump(Path(path))) == facts_only(lines), path


def test_metadata_records_are_decoded_as_apache_does(
    jars: Path, written_by_apache: ApacheDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = (written_by_apache.path / "__cluster_metadata-0").glob("*.log")
    (lines,) = apache_dump(jars, [log], "--cluster-metadata-decoder").values()
    theirs = [json.loads(line.partition(" payload: ")[2]) for line in lines if " payload: " in line]
    assert main(["log", "dump", "--json", "--records", str(log)]) == 0
    ours = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    decoded = [row["meaning"] for row in ours if row["kind"] == "record" and row["meaning"].get("version") is not None]
    assert [_name(each["type"]) for each in decoded] == [_name(each["type"]) for each in theirs]
    assert [each["version"] for each in decoded] == [each["version"] for each in theirs]
    topics = [each["value"]["topic_id"] for each in decoded if each["type"] == "TopicRecord"]
    assert topics == [each["data"]["topicId"] for each in theirs if each["type"] == "TOPIC_RECORD"]


def _name(record_type: str) -> str:
    return record_type.replace("_", "").lower()


@pytest.mark.parametrize(
    ("topic", "types"),
    [("__consumer_offsets", {"OffsetCommit"}), ("__transaction_state", {"TransactionLog"})],
)
def test_coordinator_records_are_decoded(
    written_by_apache: ApacheDirectory, capsys: pytest.CaptureFixture[str], topic: str, types: set[str]
) -> None:
    assert main(["log", "dump", "--json", "--records", str(written_by_apache.path / f"{topic}-0")]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["meaning"]["type"] for row in rows if row["kind"] == "record"} == types


def test_damage_in_it_is_found(apache_directory: ApacheDirectory) -> None:
    log = sorted((apache_directory.path / "plain-0").glob("*.log"))[1]
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    items = verify_directory(PosixFileSystem(), str(apache_directory.path), VerifyOptions())
    (found,) = [item for item in items if isinstance(item, Finding) and item.severity is Severity.ERROR]
    assert found.path == str(log)
    assert "checksum" in found.reason
