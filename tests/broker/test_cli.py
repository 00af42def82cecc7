"""The command line against a node: what it says, what it leaves behind, and the code that it ends with."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.broker.conftest import Run

from tidelog.cli.main import main

TIDELOG = str(Path(sys.executable).parent / "tidelog")


def produce(run: Run, topic: str, tmp_path: Path, text: str, *options: str) -> None:
    file = tmp_path / "input"
    file.write_text(text)
    run("produce", topic, str(file), *options)


def test_a_topic_from_its_making_to_its_end(run: Run, fails: Callable[..., str], topic: str) -> None:
    made = run("topics", "create", topic, "-p", "3", "-c", "retention.ms=86400000")
    assert (made[0]["created"], made[0]["partitions"], made[0]["replication_factor"]) == (topic, 3, 1)
    assert [each["partitions"] for each in run("topics", "list", topic)] == [3]
    run("topics", "alter", topic, "--partitions", "4", "-c", "cleanup.policy=compact", "--unset", "retention.ms")
    (described,) = run("topics", "describe", topic)
    assert described["configs"] == {"cleanup.policy": "compact"}
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2, 3]
    assert described["id"] == made[0]["id"]
    assert run("topics", "delete", topic) == [{"deleted": topic}]
    assert run("topics", "list", topic) == []
    assert "UNKNOWN_TOPIC_OR_PARTITION" in fails(1, "topics", "describe", topic)


def test_what_is_there_already_or_not_any_more(run: Run, fails: Callable[..., str], topic: str) -> None:
    run("topics", "create", topic)
    assert "TOPIC_ALREADY_EXISTS" in fails(1, "topics", "create", topic)
    assert run("topics", "create", topic, "--if-not-exists") == []
    run("topics", "delete", topic)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in fails(1, "topics", "delete", topic)
    assert run("topics", "delete", topic, "--if-exists") == []


def test_one_of_two_fails(run: Run, capsys: pytest.CaptureFixture[str], topic: str) -> None:
    assert main(["topics", "create", topic, "a/b"]) == 1
    captured = capsys.readouterr()
    assert captured.out == f"created {topic}, partitions: 1, replication factor: 1\n"
    assert "INVALID_TOPIC_EXCEPTION" in captured.err


def test_only_asked(run: Run, topic: str) -> None:
    assert run("topics", "create", topic, "--validate-only")[0]["validate_only"]
    assert run("topics", "list", topic) == []


def test_a_topic_placed_by_hand(run: Run, fails: Callable[..., str], topic: str) -> None:
    assert run("topics", "create", topic, "--replica-assignment", "1,1")[0]["partitions"] == 2
    assert "no other numbers" in fails(2, "topics", "create", topic, "--replica-assignment", "1", "-p", "2")


def test_records_there_and_back(run: Run, topic: str, tmp_path: Path) -> None:
    produce(run, topic, tmp_path, "k1:one\nk2:two\n", "-K", ":", "-H", "from=test", "-z", "zstd")
    found = run("consume", topic, "--exit")
    assert [(each["offset"], each["key"], each["value"]) for each in found] == [(0, "k1", "one"), (1, "k2", "two")]
    assert [each["headers"] for each in found] == [[["from", "test"]]] * 2


def test_json_lines_copy_a_topic(run: Run, topic: str, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"value": {"base64": "/wA="}, "key": None, "headers": [["h", None]], "timestamp": 1_700_000_000_000},
        {"value": None, "key": "gone", "headers": [], "timestamp": 1_700_000_000_001},
    ]
    produce(run, topic, tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "-f", "json")
    found = run("consume", topic, "--exit")
    assert [{name: each[name] for name in line} for each, line in zip(found, lines, strict=True)] == lines


def test_places_to_begin_at(run: Run, topic: str, tmp_path: Path) -> None:
    times = [1_700_000_000_000 + 60_000 * each for each in range(4)]
    text = "".join(json.dumps({"value": str(index), "timestamp": at}) + "\n" for index, at in enumerate(times))
    produce(run, topic, tmp_path, text, "-f", "json")

    def values(*options: str) -> list[str]:
        return [each["value"] for each in run("consume", topic, "--exit", *options)]

    assert values() == ["0", "1", "2", "3"]
    assert values("--from", "beginning", "-n", "2") == ["0", "1"]
    assert values("--from", "3") == ["3"]
    assert values("--from", "2023-11-14T22:14:20.001Z") == ["2", "3"]
    assert values("--from", "end") == []
    assert values("--from", "-10m") == []
    at = run("topics", "offsets", topic, "--at", "2023-11-14T22:14:20Z")
    assert (at[0]["offset"], at[0]["timestamp"]) == (1, times[1])


def test_truncate(run: Run, fails: Callable[..., str], topic: str, tmp_path: Path) -> None:
    produce(run, topic, tmp_path, "a\nb\nc\nd\n")
    assert run("topics", "truncate", topic, "--before", "3") == [{"topic": topic, "partition": 0, "beginning": 3}]
    (found,) = run("topics", "offsets", topic)
    assert (found["beginning"], found["end"], found["records"]) == (3, 4, 1)
    assert "OFFSET_OUT_OF_RANGE" in fails(1, "topics", "truncate", topic, "--before", "9")
    run("topics", "truncate", topic, "--before", "end")
    assert run("consume", topic, "--exit") == []
    assert "no partition 5; it has 1" in fails(2, "topics", "truncate", topic, "--before", "end", "--partition", "5")


def test_settings(run: Run, fails: Callable[..., str], topic: str) -> None:
    run("topics", "create", topic)
    run("configs", "set", "--topic", topic, "retention.ms=1000", "cleanup.policy=compact,delete")
    found = {each["setting"]: each for each in run("configs", "get", "--topic", topic)}
    assert (found["retention.ms"]["value"], found["retention.ms"]["source"]) == ("1000", "topic")
    run("configs", "unset", "--topic", topic, "retention.ms")
    (found_one,) = run("configs", "get", "--topic", topic, "retention.ms")
    assert (found_one["value"], found_one["source"]) == ("604800000", "default")
    assert len(run("configs", "get", "--topic", topic, "--all")) > 20
    assert "INVALID_CONFIG" in fails(1, "configs", "set", "--topic", topic, "retention.ms=soon")
    assert "no such setting: retention.s;" in fails(1, "configs", "get", "--topic", topic, "retention.s")


def test_a_topic_that_is_not_there_has_no_settings(fails: Callable[..., str], topic: str) -> None:
    for command in (["configs", "set", "--topic", topic, "retention.ms=1"], ["topics", "alter", topic, "-p", "2"]):
        assert "UNKNOWN_TOPIC_OR_PARTITION" in fails(1, *command)


def test_settings_of_all_brokers_and_of_one(run: Run) -> None:
    run("configs", "set", "--cluster", "log.cleaner.backoff.ms=12345")
    assert ("log.cleaner.backoff.ms", "12345") in _values(run("configs", "get", "--cluster"))
    (here,) = run("configs", "get", "--broker", "1", "log.cleaner.backoff.ms")
    assert (here["value"], here["source"]) == ("12345", "cluster")
    run("configs", "unset", "--cluster", "log.cleaner.backoff.ms")
    assert ("log.cleaner.backoff.ms", "12345") not in _values(run("configs", "get", "--cluster"))


def test_settings_of_a_group(run: Run, topic: str) -> None:
    run("configs", "set", "--group", topic, "consumer.session.timeout.ms=50000")
    assert ("consumer.session.timeout.ms", "50000") in _values(run("configs", "get", "--group", topic))


def _values(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(row["setting"], row["value"]) for row in rows]


def test_the_cluster(run: Run, bootstrap: str) -> None:
    (found,) = run("cluster", "describe")
    (broker,) = found["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
    assert broker["is_controller"]
    assert found["quorum"]["leader"] == 1
    assert {"feature": "metadata.version", "level": 30, "supported": "7-30"} in found["features"]
    assert found["log_dirs"][0]["state"] == "online"


def test_perf(run: Run, topic: str) -> None:
    (written,) = run("perf", "produce", topic, "-n", "500", "-s", "100", "-z", "lz4")
    assert (written["records"], written["bytes"]) == (500, 50_000)
    assert 0 < written["latency_ms"]["p50"] <= written["latency_ms"]["max"]
    (read,) = run("perf", "consume", topic, "-n", "500")
    assert (read["records"], read["bytes"]) == (500, 50_000)
    acknowledged, consumed = run("perf", "latency", topic, "-n", "5")
    assert acknowledged["records"] == consumed["records"] == 5
    assert acknowledged["latency_ms"]["p50"] < consumed["latency_ms"]["p50"]


def test_what_can_not_be_consumed(run: Run, fails: Callable[..., str], topic: str) -> None:
    assert "`tidelog topics list`" in fails(1, "consume", topic, "--exit")
    run("topics", "create", topic)
    assert "no partition 3; it has 1" in fails(2, "consume", topic, "-p", "3")
    assert "perf produce" in fails(1, "perf", "consume", topic)


def environment_of(bootstrap: str) -> dict[str, str]:
    """Without the warning that a source is newer than its compiled twin, which is of no interest here."""
    return {**os.environ, "TIDELOG_BOOTSTRAP": bootstrap, "PYTHONWARNINGS": "ignore"}


def test_a_pipe_into_a_pipe(bootstrap: str, topic: str) -> None:
    environment = environment_of(bootstrap)
    written = subprocess.run(
        [TIDELOG, "produce", topic], input=b"one\n\xfftwo\n", env=environment, capture_output=True, check=True
    )
    assert (written.stdout, written.stderr) == (b"", b"")
    read = subprocess.run([TIDELOG, "consume", topic, "--exit"], env=environment, capture_output=True, check=True)
    assert (read.stdout, read.stderr) == (b"one\n\xfftwo\n", b"")


def test_a_line_reaches_the_log_while_the_input_stays_open(bootstrap: str, topic: str) -> None:
    environment = environment_of(bootstrap)
    with (
        subprocess.Popen([TIDELOG, "produce", topic], stdin=subprocess.PIPE, env=environment) as writer,
        subprocess.Popen(
            [TIDELOG, "topics", "create", topic, "--if-not-exists"], env=environment, stdout=subprocess.DEVNULL
        ) as maker,
    ):
        maker.wait()
        assert writer.stdin is not None
        writer.stdin.write(b"typed\n")
        writer.stdin.flush()
        command = [TIDELOG, "consume", topic, "--from", "beginning", "-n", "1"]
        read = subprocess.run(command, env=environment, capture_output=True, timeout=30, check=True)
        assert read.stdout == b"typed\n"
        writer.stdin.close()
        assert writer.wait() == 0


def test_a_reader_that_goes_away_is_no_traceback(bootstrap: str, topic: str, run: Run) -> None:
    run("perf", "produce", topic, "-n", "2000", "-s", "200")
    command = f"{TIDELOG} consume {topic} --exit | head -n 1 | wc -c"
    outcome = subprocess.run(
        ["bash", "-c", command], env=environment_of(bootstrap), capture_output=True, text=True, check=True
    )
    assert (int(outcome.stdout), outcome.stderr) == (201, "")


def test_ctrl_c_is_clean(bootstrap: str, topic: str, run: Run, tmp_path: Path) -> None:
    produce(run, topic, tmp_path, "seen\n")
    command = [TIDELOG, "consume", topic, "--from", "beginning"]
    pipe, environment = subprocess.PIPE, environment_of(bootstrap)
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"seen\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, b"")
