import subprocess

import pytest

from tidelog.cli import completion_scripts
from tidelog.cli.main import main
from tidelog.cli.tree import CommandNode, command_tree


@pytest.fixture(scope="module")
def tree() -> CommandNode:
    return command_tree()


def complete_in_bash(tree: CommandNode, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"{completion_scripts.bash(tree)}\nCOMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n_tidelog\n"
    # Outside of a completion there is no compopt; here it says that files are not wanted.
    program = f'compopt() {{ COMPREPLY=(nothing); }}\n{program}printf "%s\\n" "${{COMPREPLY[@]}}"\n'
    outcome = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stderr == ""
    return outcome.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["to"], ["topics"]),
        (["topics", ""], ["create", "list", "describe", "alter", "delete", "offsets", "truncate", "-h", "--help"]),
        (["topics", "create", "orders", "--part"], ["--partitions"]),
        (["topics", "list", "--part"], []),
        (["produce", "t", "--compression", ""], ["none", "gzip", "snappy", "lz4", "zstd"]),
        (["produce", "t", "-z", "l"], ["lz4"]),
        (["completion", "f"], ["fish"]),
        (["start", "server"], []),  # then bash offers files
        (["start", "f", "--override", "--j"], ["nothing"]),
        (["format", "-c", "server"], []),
        (["produce", "topics", "--key-s"], ["--key-separator"]),
    ],
)
def test_bash(tree: CommandNode, words: list[str], offered: list[str]) -> None:
    assert complete_in_bash(tree, "tidelog", *words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_every_script(
    tree: CommandNode, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for node in tree.walk():
        assert "/".join(node.path) in script
        for option in node.options:
            flag = option.flags[-1]
            assert (f"-l {flag[2:]} " if shell == "fish" else flag) in script


def test_an_unknown_shell_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "tcsh"])
    assert "bash" in capsys.readouterr().err
