import argparse
import json
import re
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

from tidelog.cli import commands
from tidelog.cli.arguments.offset_arguments import BEGINNING, parse_start
from tidelog.cli.arguments.parsers import terminal_columns
from tidelog.cli.arguments.tree import CommandNode, command_tree
from tidelog.cli.failing import CommandFailed
from tidelog.cli.main import main

NOW_S = 1_777_640_000.5
WITHOUT_JSON = {("completion",)}  # completion prints a script


def test_version_says_which_kernels_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert re.fullmatch(r"tidelog \d+\.\d+\.\d+\S* (compiled|pure).* python 3\.\d+\.\d+ \S+\n", capsys.readouterr().out)


def test_version_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"version", "kernels", "python", "platform"}


def test_no_command_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    told = capsys.readouterr()
    assert "consume" in told.err
    assert told.out == ""


@pytest.mark.parametrize(("words", "shown"), [((), "consume"), (("topics", "create"), "--partitions")])
def test_help_may_be_asked_for_in_a_word(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], shown: str
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["help", *words])
    assert shown in capsys.readouterr().out


def test_the_module_is_the_command() -> None:
    outcome = subprocess.run([sys.executable, "-m", "tidelog", "version"], capture_output=True, text=True, check=True)
    assert outcome.stdout.startswith("tidelog ")


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    program = f"""
import sys
from tidelog.cli.main import main
from tidelog.cli.arguments.parsers import terminal_columns
from tidelog.cli.arguments.offset_arguments import BEGINNING, parse_start
try:
    main({list(arguments)!r})
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(outcome.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["version"]], ids=" ".join)
def test_a_command_pays_for_itself_only(arguments: list[str]) -> None:
    loaded = loaded_by(*arguments)
    assert not loaded & {f"tidelog.cli.{name}" for name in ("dev", "start", "topics", "produce", "log", "perf")}
    assert not {name for name in loaded if name.startswith(("tidelog.server", "tidelog.client", "rich"))}


def test_help_of_a_node_does_not_load_the_node() -> None:
    loaded = loaded_by("dev", "--help")
    assert "tidelog.cli.node.dev" in loaded
    assert "tidelog.server.node.node" not in loaded


def test_the_node_starts_without_rich() -> None:
    program = "import sys, tidelog.cli.node.running, tidelog.cli.output.ready_text; print('rich' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout == "False\n"


@pytest.mark.parametrize("arguments", [["start", "/nowhere"], ["dev", "--dir", "/proc/nowhere"]], ids=" ".join)
def test_a_node_starts_without_libraries_that_it_does_not_use(arguments: list[str]) -> None:
    """Each of these imports others, and adds milliseconds to the start."""
    assert not loaded_by(*arguments) & {"shutil", "pathlib", "urllib.parse", "hashlib", "email"}


@pytest.mark.parametrize("columns", [None, "100", "0", "wide"])
def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str | None) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    assert terminal_columns() == shutil.get_terminal_size().columns


def test_the_table_and_the_parsers_say_the_same() -> None:
    texts = {node.path[0]: node.help for node in command_tree().children}
    assert texts == {command.name: command.help for command in commands.COMMANDS}


def ours() -> list[CommandNode]:
    return [node for node in command_tree().walk() if node.path and not node.children and node.path[0] != "log"]


@pytest.mark.parametrize("node", ours(), ids=lambda node: " ".join(node.path))
def test_every_command_has_json_and_says_its_exit_codes(node: CommandNode) -> None:
    flags = [flag for option in node.options for flag in option.flags]
    assert ("--json" in flags) == (node.path not in WITHOUT_JSON)
    assert "exit codes:" in node.epilog
    assert all(option.help for option in node.options)


def run_as(monkeypatch: pytest.MonkeyPatch, error: BaseException | None) -> int:
    """Run `tidelog version` with a command that raises `error`, if given; return the exit code."""

    def run(_options: object) -> int:
        if error is not None:
            raise error
        return 0

    module = ModuleType("fake")
    module.add_parser = lambda actions: actions.add_parser("version").set_defaults(run=run)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tidelog.cli.version", module)
    return main(["version"])


def test_what_went_wrong_is_said_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_as(monkeypatch, CommandFailed("no broker answers\nstart one")) == 1
    captured = capsys.readouterr()
    assert captured.err == "tidelog: no broker answers\ntidelog: start one\n"
    assert captured.out == ""


def test_an_exit_code_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_as(monkeypatch, None) == 0
    assert run_as(monkeypatch, CommandFailed("wrong", 2)) == 2


def test_interrupted_as_a_shell_counts_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_as(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == ""


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        run_as(monkeypatch, ZeroDivisionError())


def parsed(*words: str) -> argparse.Namespace:
    return commands.build_parser(commands.NAMES).parse_args(words)


@pytest.mark.parametrize("value", ["-10m", "-1h30m", "-2d12h", "-10"])
def test_a_value_may_begin_with_a_minus_and_a_digit(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tidelog.cli.arguments.offset_arguments.time.time", lambda: NOW_S
    )  # parsed twice: at the same millisecond
    assert parsed("consume", "t", "--from", value).start == parse_start(value)
    assert parsed("consume", "t", f"--from={value}", "-e").exit


def test_times_ago_are_values_of_every_option_that_takes_a_place() -> None:
    assert parsed("topics", "offsets", "t", "--at", "-1h30m").at.timestamp_ms > 0
    assert parsed("topics", "truncate", "t", "--before", "-1d12h").before.timestamp_ms > 0
    assert parsed("perf", "consume", "--from", "-1h30m").start.timestamp_ms > 0
    assert parsed("groups", "reset-offsets", "g", "--all-topics", "--to-datetime", "-1h30m").to_datetime > 0
    assert parsed("groups", "reset-offsets", "g", "--all-topics", "--shift-by", "-5").shift_by == -5


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["topik", "list"], "there is no command topik; did you mean topics?"),
        (["topics", "lst"], "there is no action lst; did you mean list?"),
        (["topics", "--list"], "there is no option --list; did you mean `tidelog topics list`?"),
        (["consume", "t", "--form", "json"], "there is no option --form; did you mean --format or --from?"),
        (["consume", "t", "--form=json"], "there is no option --form; did you mean --format or --from?"),
        (["produce", "t", "--partitions", "1"], "there is no option --partitions; did you mean --partition?"),
        (["format", "--clusterid", "x"], "there is no option --clusterid; did you mean --cluster-id?"),
        (["--verson"], "there is no option --verson; did you mean --version?"),
        (["version", "--xyzzy"], "there is no option --xyzzy\n"),
        (["xyzzy"], "there is no command xyzzy\n"),
        (["log", "dmup", "f"], "there is no action dmup; did you mean dump?"),
    ],
    ids=" ".join,
)
def test_a_word_that_is_not_known_is_answered_with_its_neighbours(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, *words)


def test_where_the_others_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "`tidelog consume --help` lists the options" in refused(capsys, "consume", "--frm", "1")
    assert "`tidelog topics --help` lists the actions" in refused(capsys, "topics", "mkae")


@pytest.mark.parametrize("node", command_tree().walk(), ids=lambda node: " ".join(node.path) or "tidelog")
def test_no_option_is_guessed_from_its_first_letters(node: CommandNode, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {flag for option in node.options for flag in option.flags if flag.startswith("--")}
    for flag in sorted(flags):
        if flag[:-1] not in flags:
            assert f"there is no option {flag[:-1]}" in refused(capsys, *node.path, flag[:-1])


def test_a_value_that_looks_like_an_option_is_told_how_to_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert "a value that begins with a minus is written --key=-x" in refused(capsys, "produce", "t", "--key", "-x")
    assert "begins with a minus" not in refused(capsys, "produce", "t", "--key")


def test_what_follows_a_job_is_the_jobs_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed("spark-submit", "job.py", "--topik", "-1h").arguments == ["--topik", "-1h"]
    assert "--topik" not in refused(capsys, "spark-submit", "--conf", "x", "job.py", "--topik")


def test_version_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    said = capsys.readouterr().out
    main(["version"])
    assert said == capsys.readouterr().out


def test_every_command_that_talks_to_a_cluster_finds_it_by_kafkas_name() -> None:
    for node in command_tree().walk():
        for option in node.options:
            assert ("--bootstrap" in option.flags) == ("--bootstrap-server" in option.flags), node.path
    assert parsed("topics", "list", "--bootstrap-server", "there:1").bootstrap == "there:1"


def test_kafkas_names_in_consume_and_produce() -> None:
    options = parsed("consume", "--topic", "t", "--from-beginning", "--max-messages", "5")
    assert (options.topic, options.start, options.count) == (["t"], BEGINNING, 5)
    assert parsed("consume", "a", "b", "--include", "c.*").topics == ["a", "b"]
    assert parsed("produce", "--topic", "t").named_topic == "t"
