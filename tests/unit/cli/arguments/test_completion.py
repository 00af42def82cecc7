import socket
import subprocess

import pytest

from tidelog.cli.arguments import completion_scripts
from tidelog.cli.arguments.tree import CommandNode, command_tree
from tidelog.cli.main import main


@pytest.fixture(scope="module")
def tree() -> CommandNode:
    return command_tree()


# A cluster with these names, and another one for command lines that name another cluster.
CLUSTER = """\
tidelog() {
    case "$*" in
        "completion topics") echo orders; echo payments ;;
        "completion groups") echo billing ;;
        "completion topics -b there:1") echo there ;;
    esac
}
"""


def complete_in_bash(tree: CommandNode, *words: str) -> list[str]:
    """Return the words that bash offers for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"{completion_scripts.bash(tree)}\nCOMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n_tidelog\n"
    # Outside of a completion there is no compopt; this one shows that files are not wanted.
    before = f'compopt() {{ COMPREPLY=(nothing); }}\n{CLUSTER}COMP_LINE="{" ".join(words)}"\n'
    program = f'{before}{program}printf "%s\\n" "${{COMPREPLY[@]}}"\n'
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
        (["consume", "ord"], ["orders"]),
        (["consume", "orders", "pay"], ["payments"]),
        (["consume", "--topic", ""], ["orders", "payments"]),
        (["consume", "orders", "-g", ""], ["billing"]),
        (["consume", "-b", "there:1", "t"], ["there"]),
        (["consume", "--bootstrap-server=there:1", "t"], ["there"]),
        (["topics", "describe", "o"], ["orders"]),
        (["topics", "create", "o"], []),
        (["groups", "lag", "b"], ["billing"]),
        (["groups", "reset-offsets", "billing", "--topic", "o"], ["orders"]),
        (["configs", "get", "--topic", "p"], ["payments"]),
        (["configs", "get", "--group", "b"], ["billing"]),
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


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_ask_for_names_where_bash_does(tree: CommandNode, shell: str) -> None:
    script = getattr(completion_scripts, shell)(tree)
    asking = [line for line in script.splitlines() if "__tidelog_names topics" in line or 'names="topics"' in line]
    assert any('"/topics/describe"' in line for line in asking)
    assert not any('"/topics/create"' in line for line in asking)


@pytest.mark.parametrize("kind", ["topics", "groups"])
def test_where_no_broker_is_nothing_is_offered_and_nothing_said(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        assert main(["completion", kind, "-b", f"127.0.0.1:{listener.getsockname()[1]}"]) == 1
    assert main(["completion", kind, "-b", "no:address"]) == 1
    assert capsys.readouterr() == ("", "")


def test_an_unknown_shell_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "tcsh"])
    assert "bash" in capsys.readouterr().err
