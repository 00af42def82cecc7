"""How the parsers of all commands look alike: help that keeps its line breaks, examples, exit codes at the end."""

import argparse
import textwrap
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130  # as a shell counts a process that was ended by Ctrl-C

EXIT_CODES: Final = """\
exit codes:
  0  done
  1  it failed, and standard error says why
  2  the command line is wrong, or a file that it names
"""
JSON_HELP: Final = "one JSON object a line, for programs"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Line breaks of descriptions stay; long options leave the help text some room and name their value once; commands
    stand in one column; an argument that needs no words has none. What is overridden is private to argparse, and only
    the looks of the help depend on it."""

    def __init__(self, prog: str, indent_increment: int = 2, max_help_position: int = 30, width: int | None = None):
        super().__init__(prog, indent_increment, max_help_position, width)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _iter_indented_subactions(self, action: argparse.Action) -> Generator[argparse.Action, None, None]:
        if isinstance(action, argparse._SubParsersAction):
            yield from action._get_subactions()

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):
            return "".join(map(self._format_action, self._iter_indented_subactions(action)))
        return super()._format_action(action) if action.help else ""


def epilog(examples: str = "", exit_codes: str = EXIT_CODES) -> str:
    shown = f"examples:\n{textwrap.indent(textwrap.dedent(examples).strip(), '  ')}\n\n" if examples else ""
    return f"{shown}{exit_codes.rstrip()}"


def add_command(
    actions: "Actions", name: str, help_text: str, *, description: str = "", examples: str = "", has_json: bool = True
) -> argparse.ArgumentParser:
    """A command, or an action of one. Its description is the help text unless there is more to say."""
    parser = actions.add_parser(
        name,
        help=help_text,
        description=description.strip() or sentence(help_text),
        epilog=epilog(examples),
        formatter_class=HelpFormatter,
    )
    if has_json:
        parser.add_argument("--json", action="store_true", help=JSON_HELP)
    return parser


def sentence(help_text: str) -> str:
    return f"{help_text[0].upper()}{help_text[1:]}."


def add_actions(parser: argparse.ArgumentParser) -> "Actions":
    return parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)


def pair(text: str) -> tuple[str, str]:
    """`KEY=VALUE`, as an argument's type. The value may be empty and may have further `=` in it."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name.strip(), value.strip()


def count(text: str) -> int:
    """A number of things: 1 or more."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return number
