"""`tidelog completion`: a script for bash, zsh or fish, made from the parsers; it knows commands, options, choices.

The scripts hold the words themselves: to ask us at every press of the tab key would take a tenth of a second each time.
Only the names of topics and groups, which nobody else knows, are asked for each time.
"""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_command
from tidelog.cli.exit_codes import FAILED, OK

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

SHELLS = ("bash", "zsh", "fish")
KINDS = ("topics", "groups")
COMPLETION_TIMEOUT_MS = 1_000  # somebody who has pressed the tab key waits no longer
DESCRIPTION = """\
Print a script that completes the commands and options of tidelog in your shell, and the names of topics and groups.
The names themselves, one a line, are what `topics` and `groups` print, and what the scripts ask for; where no broker
answers within a second, there are none.
"""
EXAMPLES = """\
  source <(tidelog completion bash)                                              this shell
  tidelog completion bash > ~/.local/share/bash-completion/completions/tidelog   every bash from now on
  tidelog completion zsh > "${fpath[1]}/_tidelog"                                every zsh
  tidelog completion fish > ~/.config/fish/completions/tidelog.fish              every fish
"""


def add_parser(commands: "Commands") -> None:
    parser = add_command(
        commands,
        "completion",
        "a script that completes commands and options in your shell",
        description=DESCRIPTION,
        examples=EXAMPLES,
        has_json=False,
    )
    parser.add_argument("shell", choices=(*SHELLS, *KINDS))
    parser.add_argument(
        "-b", "--bootstrap", "--bootstrap-server", dest="bootstrap", metavar="HOST:PORT,...",
        help="whose names: some brokers of the cluster",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.shell in KINDS:
        return _run_names(options)
    from tidelog.cli.arguments import completion_scripts  # reads every command's parser
    from tidelog.cli.arguments.tree import command_tree

    render = {
        "bash": completion_scripts.bash,
        "zsh": completion_scripts.zsh,
        "fish": completion_scripts.fish,
    }[options.shell]
    print(render(command_tree()), end="")
    return 0


def _run_names(options: argparse.Namespace) -> int:
    """Print the names, or nothing where no broker answers: whoever presses the tab key wants no error in the middle of
    a line."""
    from tidelog.cli.cluster.connecting import bootstrap_of
    from tidelog.client.admin.admin_client import Admin
    from tidelog.client.client import Client
    from tidelog.client.errors import ClientError

    try:
        where = bootstrap_of(options)
        with Client(where, request_timeout_ms=COMPLETION_TIMEOUT_MS, retry_timeout_ms=COMPLETION_TIMEOUT_MS) as client:
            admin = Admin(client)
            topics = options.shell == "topics"
            names = [each.name for each in admin.list_topics()] if topics else [g.group_id for g in admin.list_groups()]
    except (ClientError, ValueError):
        return FAILED
    print("".join(f"{name}\n" for name in names), end="")
    return OK
