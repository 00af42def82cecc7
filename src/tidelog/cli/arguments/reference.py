"""docs/reference/cli.md: every command with its options and examples, from the parsers. Not argparse's own text, whose
line breaks differ between releases of Python.
"""

import textwrap
from collections.abc import Iterator

from tidelog.cli.arguments.parsers import sentence
from tidelog.cli.arguments.tree import CommandNode, command_tree
from tidelog.cli.exit_codes import EXIT_CODES

INTRODUCTION = """\
# The command line

Made from the parsers by `make docs`; `tidelog COMMAND --help` says the same. With `--json` a command prints one JSON
object a line, and nothing else, on standard output; warnings and errors go to standard error.
Tables are in colour on a terminal and plain in a pipe.

All commands that talk to a cluster find it by `-b HOST:PORT`, by the variable `TIDELOG_BOOTSTRAP`, or else at
127.0.0.1:9092.

| exit code | |
|---|---|
| 0 | done; for a node: it was stopped in order, by SIGTERM or Ctrl-C |
| 1 | it failed, and standard error says why |
| 2 | the command line is wrong, or a file that it names |
| 130, 143 | Ctrl-C or SIGTERM ended it |
| 141 | whoever read its output has gone away, as `head` does |
"""


def render() -> str:
    tree = command_tree()
    parts = [INTRODUCTION, _contents(tree)]
    parts += [_section(node) for node in tree.walk() if node.path]
    return "\n".join(parts)


def _contents(tree: CommandNode) -> str:
    lines = ["| command | |", "|---|---|"]
    lines += [f"| [`tidelog {child.path[0]}`](#tidelog-{child.path[0]}) | {child.help} |" for child in tree.children]
    return "\n".join(lines) + "\n"


def _section(node: CommandNode) -> str:
    title = f"{'#' * (1 + len(node.path))} tidelog {' '.join(node.path)}"
    blocks = [title, node.description.strip() or sentence(node.help)]
    if not node.children:
        blocks.append(f"```\n{usage(node)}\n```")
        rows = list(_rows(node))
        blocks.append("\n".join(["| | |", "|---|---|", *rows]) if rows else "")
    blocks.append(_epilog(node))
    return "\n\n".join(block for block in blocks if block) + "\n"


def usage(node: CommandNode) -> str:
    required = [f"{option.flags[-1]} {option.value}" for option in node.options if option.required]
    words = ["tidelog", *node.path, *required, *(f"({' | '.join(names)})" for names in node.one_of)]
    for argument in node.arguments:
        name = f"{argument.name}..." if argument.is_repeated else argument.name
        words.append(f"[{name}]" if argument.is_optional else name)
    return " ".join([*words, "[options]"])


def _rows(node: CommandNode) -> Iterator[str]:
    for argument in node.arguments:
        if argument.help:
            yield f"| `{argument.name}` | {_cell(argument.help)} |"
    for option in node.options:
        if "--help" not in option.flags:
            flags = ", ".join(option.flags) + (f" {option.value}" if option.value else "")
            yield f"| `{_cell(flags)}` | {_cell(option.help)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _epilog(node: CommandNode) -> str:
    """Return the examples as a block of code. The exit codes are left out: they stand once at the top of the page."""
    text = node.epilog.replace(EXIT_CODES.rstrip(), "").strip()
    if not text.startswith("examples:"):
        return text
    return f"```\n{textwrap.dedent(text.removeprefix('examples:').strip(chr(10))).strip()}\n```"
