"""Groups and transactions from the command line, against a node: what it says, does, and refuses."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.broker.conftest import Run
from tests.broker.test_cli import TIDELOG, environment_of, produce

from tidelog.cli.main import main
from tidelog.client.client import Client
from tidelog.client.group.consumer import GroupConsumer
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.record import EARLIEST

Fails = Callable[..., str]


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    with Client(bootstrap) as client:
        yield client


@pytest.fixture
def filled(run: Run, topic: str, tmp_path: Path) -> str:
    """Create a topic with ten records in partition 0 and none in partition 1; return its name."""
    run("topics", "create", topic, "-p", "2")
    produce(run, topic, tmp_path, "".join(f"{index}\n" for index in range(10)), "--partition", "0")
    return topic


def test_a_group_reads_on_where_it_was(run: Run, filled: str) -> None:
    def consume(*words: str) -> list[str]:
        return [each["value"] for each in run("consume", filled, "--group", filled, *words)]

    assert consume("--from", "beginning", "-n", "4") == ["0", "1", "2", "3"]
    assert consume("--exit") == ["4", "5", "6", "7", "8", "9"]
    assert consume("--exit") == []


def test_sigterm_commits_and_leaves(run: Run, bootstrap: str, filled: str) -> None:
    """SIGTERM ends a consumer as Ctrl-C does, because that is what `timeout`, systemd and containers send."""
    command = [TIDELOG, "consume", filled, "--group", filled, "--from", "beginning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment_of(bootstrap)) as reader:
        assert reader.stdout is not None
        assert [reader.stdout.readline() for _ in range(10)] == [b"%d\n" % index for index in range(10)]
        reader.terminate()
        assert reader.wait(60) == 143
    (group,) = run("groups", "describe", filled)
    assert (group["state"], group["members"]) == ("Empty", [])
    assert [(row["partition"], row["committed"]) for row in group["offsets"] if row["partition"] == 0] == [(0, 10)]


def test_what_does_not_go_with_a_group(fails: Fails, filled: str) -> None:
    assert "do not go together" in fails(2, "consume", filled, "-g", filled, "--partition", "0")
    assert "--from is beginning or end" in fails(2, "consume", filled, "-g", filled, "--from", "3")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in fails(1, "consume", f"{filled}-not-there", "-g", filled)


def test_from_the_first_commit_to_the_end_of_a_group(run: Run, fails: Fails, filled: str) -> None:
    planned = run("groups", "reset-offsets", filled, "--topic", filled, "--to-offset", "4")
    assert [(row["partition"], row["new"], row["executed"]) for row in planned] == [(0, 4, False), (1, 0, False)]
    assert "GROUP_ID_NOT_FOUND" in fails(1, "groups", "describe", filled)  # a plan without --execute changes nothing
    run("groups", "reset-offsets", filled, "--topic", f"{filled}:0", "--to-offset", "4", "--execute")
    (group,) = run("groups", "describe", filled)
    assert (group["state"], group["type"], group["members"]) == ("Empty", "classic", [])
    assert [(row["partition"], row["committed"], row["end"], row["lag"]) for row in group["offsets"]] == [(0, 4, 10, 6)]
    (listed,) = run("groups", "list", filled)
    assert (listed["state"], listed["members"], listed["coordinator"]) == ("Empty", 0, group["coordinator"])
    assert run("groups", "list", filled, "--state", "Stable") == []
    (lag,) = run("groups", "lag", filled, "--interval", "100ms")
    assert (lag["lag"], lag["catch_up"]) == (6, "never: not moving")
    assert run("groups", "delete-offsets", filled, "--topic", filled) == [
        {"group": filled, "topic": filled, "partition": 0}
    ]
    run("groups", "reset-offsets", filled, "--topic", filled, "--to-latest", "--execute")
    assert run("groups", "delete", filled) == [{"deleted": filled}]
    assert "GROUP_ID_NOT_FOUND" in fails(1, "groups", "delete", filled)
    assert run("groups", "delete", filled, "--if-exists") == []


def test_lag_is_told_at_once_and_then_with_rates(
    run: Run, fails: Fails, filled: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    run("groups", "reset-offsets", filled, "--topic", f"{filled}:0", "--to-offset", "4", "--execute")
    paused: list[str] = []
    monkeypatch.setattr(Client, "pause", lambda _self, _ms: paused.append(capsys.readouterr().out))
    (row,) = run("groups", "lag", filled)
    assert (row["lag"], row["consumed_per_s"], paused) == (6, None, [])  # a program does not wait
    assert main(["groups", "lag", filled]) == 0
    (first,), second = paused, capsys.readouterr().out
    assert f"{filled}  lag 6\n" in first
    assert "consumed" not in first
    assert "rates over" in second
    assert "never: not moving" in second
    assert "--watch needs time" in fails(2, "groups", "lag", filled, "--watch", "--interval", "0s")


def test_offsets_to_a_file_and_back(run: Run, filled: str, tmp_path: Path) -> None:
    file = str(tmp_path / "plan.csv")
    run("groups", "reset-offsets", filled, "--topic", filled, "--to-earliest", "--execute")
    run("groups", "reset-offsets", filled, "--all-topics", "--to-current", "--export", file)
    run("groups", "reset-offsets", filled, "--all-topics", "--to-latest", "--execute")
    rows = run("groups", "reset-offsets", filled, "--from-file", file, "--execute")
    assert [(row["committed"], row["new"], row["change"]) for row in rows] == [(10, 0, -10), (0, 0, 0)]
    (shifted, _) = run("groups", "reset-offsets", filled, "--all-topics", "--shift-by", "99")
    assert (shifted["new"], shifted["note"]) == (10, "99 is behind the end")
    (ago, _) = run("groups", "reset-offsets", filled, "--all-topics", "--by-duration", "1h")
    assert ago["new"] == 0


def test_members_are_shown_and_not_overruled(run: Run, fails: Fails, filled: str, client: Client) -> None:
    consumer = GroupConsumer(client, filled, start=EARLIEST)
    consumer.subscribe([filled])
    while not consumer.is_reconciled:
        consumer.poll(100)
    consumer.commit()
    (group,) = run("groups", "describe", filled)
    (member,) = group["members"]
    assert (group["state"], member["assignment"], member["client_id"]) == ("Stable", f"{filled}:0-1", "tidelog")
    assert group["offsets"][0]["member"] == member["member"]
    said = fails(1, "groups", "reset-offsets", filled, "--topic", filled, "--to-earliest", "--execute")
    assert f"stop its members first (`tidelog groups describe {filled}` names them)" in said
    assert "NON_EMPTY_GROUP" in fails(1, "groups", "delete", filled, "--yes")
    assert "GROUP_SUBSCRIBED_TO_TOPIC" in fails(1, "groups", "delete-offsets", filled, "--all-topics", "--yes")
    consumer.close()
    run("groups", "reset-offsets", filled, "--topic", filled, "--to-earliest", "--execute")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to-earliest"], "say which partitions"),
        (["--topic", "t", "--all-topics", "--to-earliest"], "say which partitions"),
        (["--topic", "t", "--from-file", "FILE"], "neither --topic nor --all-topics"),
        (["--from-file", "/nowhere"], "No such file"),
    ],
)
def test_resets_that_make_no_sense(fails: Fails, tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "plan").write_text("t,0,1\n")
    given = [str(tmp_path / "plan") if word == "FILE" else word for word in words]
    assert said in fails(2, "groups", "reset-offsets", "g", *given)


def test_a_transaction_from_its_start_to_its_abort(run: Run, fails: Fails, filled: str, client: Client) -> None:
    producer = TransactionalProducer(client, filled)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(filled, b"open", partition=0)
    producer.flush()
    (listed,) = [each for each in run("transactions", "list") if each["transactional_id"] == filled]
    assert listed["state"] == "Ongoing"
    (described,) = run("transactions", "describe", filled)
    assert (described["partitions"], described["producer_id"]) == (f"{filled}:0", listed["producer_id"])
    opened = run("transactions", "describe-producers", f"{filled}:0")
    (mine,) = [row for row in opened if row["producer_id"] == listed["producer_id"]]
    assert mine["open_from"] == 10
    assert run("transactions", "find-hanging", "--topic", filled, "--older-than", "0s") == []
    assert "no transaction is open" in fails(1, "transactions", "abort", f"{filled}:0", "--start-offset", "9", "--yes")
    run("transactions", "abort", f"{filled}:0", "--start-offset", "10", "--yes")
    after = run("transactions", "describe-producers", f"{filled}:0")
    assert [row["open_from"] for row in after] == [None] * len(after)
    (ended,) = run("transactions", "force-terminate", filled, "--yes")
    assert ended["producer_id"] == listed["producer_id"]
    assert "no producer has used" in fails(1, "transactions", "force-terminate", f"{filled}-nobody", "--yes")
    assert "TRANSACTIONAL_ID_NOT_FOUND" in fails(1, "transactions", "describe", f"{filled}-nobody")


@pytest.mark.parametrize(
    "words", [["groups", "list", "G"], ["groups", "describe", "G"], ["groups", "lag", "G", "--interval", "50ms"]]
)
def test_tables_are_for_people(
    run: Run,
    filled: str,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # xdist sets it to less, and a table would be cut to it
    run("groups", "reset-offsets", filled, "--topic", filled, "--to-offset", "4", "--execute")
    assert main([filled if word == "G" else word for word in words]) == 0
    shown = capsys.readouterr().out
    assert filled in shown
    with pytest.raises(json.JSONDecodeError):
        json.loads(shown)
