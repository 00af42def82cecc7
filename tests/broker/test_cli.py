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


def values_of(run: Run, *words: str) -> list[str]:
    return [each["value"] for each in run("consume", *words)]


def test_the_last_records(run: Run, topic: str, tmp_path: Path) -> None:
    run("topics", "create", topic, "-p", "2")
    for index in range(6):
        line = json.dumps({"value": str(index), "partition": index % 2, "timestamp": 1_700_000_000_000 + index})
        produce(run, topic, tmp_path, line + "\n", "-f", "json")
    assert values_of(run, topic, "--exit", "--from", "-3") == ["3", "4", "5"]
    assert values_of(run, topic, "--exit", "--from", "-3", "-p", "1") == ["1", "3", "5"]
    assert values_of(run, topic, "--exit", "--from", "-99") == ["0", "1", "2", "3", "4", "5"]
    assert values_of(run, topic, "--from", "-3", "-n", "2") == ["3", "4"]  # without -n it would wait for more


def test_the_last_records_and_what_comes_next(bootstrap: str, run: Run, topic: str, tmp_path: Path) -> None:
    produce(run, topic, tmp_path, "one\ntwo\nthree\n")
    command = [TIDELOG, "consume", topic, "--from", "-2", "-n", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment_of(bootstrap)) as reader:
        assert reader.stdout is not None
        assert [reader.stdout.readline() for _ in range(2)] == [b"two\n", b"three\n"]
        produce(run, topic, tmp_path, "four\n")
        assert reader.stdout.read() == b"four\n"
        assert reader.wait() == 0


def test_several_topics_at_once(run: Run, fails: Callable[..., str], topic: str, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        produce(run, f"{topic}-{name}", tmp_path, f"of {name}\n")
    assert sorted(values_of(run, f"{topic}-a", f"{topic}-b", "--exit")) == ["of a", "of b"]
    assert values_of(run, "--topic", f"{topic}-c", "--exit", "--from-beginning") == ["of c"]
    assert sorted(values_of(run, "--include", f"{topic}-[ac]", "--exit")) == ["of a", "of c"]
    assert sorted(values_of(run, f"{topic}-b", "--include", f"{topic}-[ab]", "--exit")) == ["of a", "of b"]
    assert sorted(values_of(run, "--include", f"{topic}-[ac]", "--exit", "-g", topic)) == ["of a", "of c"]
    assert f"no topic matches {topic};" in fails(1, "consume", "--include", topic, "--exit")  # the whole name counts
    assert "read as RE2 reads it" in fails(2, "consume", "--include", "(", "--exit")
    assert "which topic?" in fails(2, "consume", "--exit")


@pytest.mark.parametrize("group", [[], ["--group", "G", "--from-beginning"]], ids=["alone", "in a group"])
def test_a_topic_that_is_made_later_is_read_too(
    group: list[str], bootstrap: str, run: Run, topic: str, tmp_path: Path
) -> None:
    produce(run, f"{topic}-a", tmp_path, "first\n")
    words = [topic if word == "G" else word for word in group]
    command = [TIDELOG, "consume", "--include", f"{topic}-.*", "-n", "2", *(words or ["--from", "beginning"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment_of(bootstrap)) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"first\n"
        produce(run, f"{topic}-b", tmp_path, "second\n")
        assert reader.stdout.read() == b"second\n"
        assert reader.wait() == 0


def test_past_the_end(
    run: Run, fails: Callable[..., str], topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("topics", "create", topic, "-p", "2")
    produce(run, topic, tmp_path, "a\nb\nc\n", "--partition", "0")
    said = fails(1, "consume", topic, "--from", "1000", "-e")
    assert f"{topic}-0 ends at offset 3: it has nothing from 1000 on" in said
    assert f"{topic}-1 ends at offset 0" in said
    assert "`tidelog topics offsets`" in said
    assert main(["consume", topic, "--from", "2", "-e"]) == 0
    assert capsys.readouterr() == ("c\n", f"warning: {topic}-1 ends at offset 0: it has nothing from 2 on\n")
    assert main(["consume", topic, "--from", "3", "-e", "-p", "0"]) == 0  # nothing has come yet, which is no mistake
    assert capsys.readouterr() == ("", "")


def test_where_the_records_are(run: Run, topic: str, tmp_path: Path) -> None:
    run("topics", "create", topic, "-p", "2")
    file = tmp_path / "input"
    file.write_text("a\nb\n")
    run("produce", topic, str(file), "--partition", "1")
    (facts,) = run("produce", topic, str(file), "--partition", "1")
    assert facts["partitions"] == [{"partition": 1, "first_offset": 2, "last_offset": 3, "records": 2}]
    (facts,) = run("produce", "--topic", topic, str(file), "--partition", "0")
    assert (facts["topic"], facts["records"]) == (topic, 2)


def test_a_line_that_can_not_be_read_says_what_was_written_before_it(
    run: Run, fails: Callable[..., str], topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "input"
    file.write_text('{"value": 1}\n{"value": 2}\nnot json\n{"value": 3}\n')
    said = fails(2, "produce", topic, str(file), "-f", "json")
    assert f"{file}:3: not JSON" in said
    assert f"2 records before it were written: {topic}-0 offsets 0-1 (2 records)" in said
    assert values_of(run, topic, "--exit") == ["1", "2"]
    file.write_text("not json\n")
    assert "no record was written" in fails(2, "produce", topic, str(file), "-f", "json")
    file.write_text("x\n")
    said = fails(2, "produce", topic, str(file), f"{file}-not-there")
    assert "1 record before it was written" in said
    said = fails(1, "produce", topic, str(file), "--partition", "7")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in said
    assert "no record was written" in said


def test_sizes_of_topics(run: Run, topic: str, tmp_path: Path) -> None:
    run("topics", "create", topic, "-p", "2")
    (empty,) = run("topics", "list", topic)
    assert empty["size"] == 0
    produce(run, topic, tmp_path, "x" * 1_000 + "\n", "--partition", "1")
    (filled,) = run("topics", "list", topic)
    assert 1_000 < filled["size"] < 1_200


def test_did_you_mean_a_topic_or_group(run: Run, fails: Callable[..., str], topic: str) -> None:
    run("topics", "create", topic)
    wrong, meant = topic.replace("topic", "tpoic"), f"did you mean {topic}? Otherwise"
    for words in (
        ["consume", wrong, "--exit"],
        ["topics", "describe", wrong],
        ["topics", "delete", wrong, "--yes"],
        ["topics", "offsets", wrong],
        ["configs", "set", "--topic", wrong, "retention.ms=1"],
        ["perf", "consume", wrong],
    ):
        assert meant in fails(1, *words), words
    run("groups", "reset-offsets", topic, "--topic", topic, "--to-earliest", "--execute")
    for words in (["groups", "describe", wrong], ["groups", "delete", wrong], ["groups", "lag", wrong]):
        assert meant in fails(1, *words), words


def test_names_for_the_shell(run: Run, topic: str, bootstrap: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("topics", "create", topic)
    run("groups", "reset-offsets", f"{topic}-group", "--topic", topic, "--to-earliest", "--execute")
    capsys.readouterr()
    assert main(["completion", "topics"]) == 0
    assert topic in capsys.readouterr().out.splitlines()
    assert main(["completion", "groups", "--bootstrap-server", bootstrap]) == 0
    assert f"{topic}-group" in capsys.readouterr().out.splitlines()


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


def test_a_refused_setting_is_said_with_its_owner_and_without_a_second_advice(fails: Callable[..., str]) -> None:
    said = fails(1, "configs", "set", "--cluster", "super.users=User:a")
    assert "alter the configs of all brokers (" in said
    assert "INVALID_CONFIG: super.users = User:a: There is no authorizer yet" in said
    assert "see the name and value" not in said


def test_what_nobody_knows_can_not_be_unset(fails: Callable[..., str], run: Run, topic: str) -> None:
    run("topics", "create", topic)
    for whose in (["--broker", "1"], ["--cluster"]):
        said = fails(1, "configs", "unset", *whose, "log.cleaner.threadz")
        assert "log.cleaner.threadz: unknown setting; did you mean log.cleaner.threads?" in said
    assert "did you mean retention.ms?" in fails(1, "configs", "unset", "--topic", topic, "log.retention.ms")
    assert "unknown setting" in fails(1, "configs", "unset", "--group", topic, "retention.ms")
    assert "unknown setting" in fails(1, "topics", "alter", topic, "--unset", "retention.mz")
    run("configs", "unset", "--broker", "1", "log.cleaner.threads")


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
    """Return our environment with the node's address, without the warning that a source is newer than its compiled
    twin: no test here is about that."""
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
