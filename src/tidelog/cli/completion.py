"""`tidelog completion`: a script for bash, zsh or fish, made from the parsers; it knows commands, options, choices.

The scripts hold the words themselves: to ask us at every press of the tab key would take a tenth of a second each time.
"""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.parsers import add_command

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = "Print a script that completes the commands and options of tidelog in your shell."
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
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tidelog.cli import completion_scripts  # reads every command's parser
    from tidelog.cli.tree import command_tree

    render = {
        "bash": completion_scripts.bash,
        "zsh": completion_scripts.zsh,
        "fish": completion_scripts.fish,
    }[options.shell]
    print(render(command_tree()), end="")
    return 0
