import json
import re
import subprocess
import sys
from types import ModuleType

import pytest

from tidelog.cli import commands
from tidelog.cli.failing import CommandFailed
from tidelog.cli.main import joined, main
from tidelog.cli.tree import CommandNode, command_tree

WITHOUT_JSON = {("completion",)}  # prints a script


def test_version_says_which_kernels_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert re.fullmatch(r"tidelog \d+\.\d+\.\d+\S* (compiled|pure).* python 3\.\d+\.\d+ \S+\n", capsys.readouterr().out)


def test_version_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"version", "kernels", "python", "platform"}


def test_no_command_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "COMMAND" in capsys.readouterr().err


def test_the_module_is_the_command() -> None:
    outcome = subprocess.run([sys.executable, "-m", "tidelog", "version"], capture_output=True, text=True, check=True)
    assert outcome.stdout.startswith("tidelog ")


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    program = f"""
import sys
from tidelog.cli.main import main
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
    assert "tidelog.cli.dev" in loaded
    assert "tidelog.server.node" not in loaded


def test_the_node_starts_without_rich() -> None:
    program = "import sys, tidelog.cli.node_running, tidelog.cli.ready_text; print('rich' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout == "False\n"


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
    """`tidelog version`, when it does this."""

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


def test_a_time_ago_is_not_an_option() -> None:
    assert joined(["consume", "t", "--from", "-10m", "-n", "-5"]) == ["consume", "t", "--from=-10m", "-n", "-5"]
    assert joined(["-10m"]) == ["-10m"]
