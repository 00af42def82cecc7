"""How the parsers of all commands are alike: help that keeps its line breaks, examples, exit codes at the end; and what
they say to a word that they do not know.
"""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tidelog.cli.arguments.spelling import did_you_mean, nearest
from tidelog.cli.exit_codes import EXIT_CODES, USAGE
from tidelog.cli.failing import complain

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

JSON_HELP: Final = "one JSON object a line, for programs"

# Options of Kafka's console consumer, and their names here.
KAFKA_OPTIONS: Final = {"--offset": "--from", "--timeout-ms": "--exit", "--property": "--show"}

# `-10` and `-1h30m` are values; no option of ours begins with a digit.
_VALUE: Final = re.compile(r"-\.?\d")


class Parser(argparse.ArgumentParser):
    """argparse's parser, but: an option is not guessed from its first letters, a value may begin with a minus and a
    digit, and a word that is not known is answered with those that look like it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self._negative_number_matcher = _VALUE  # Python 3.14 has the same; before, `-1h30m` was taken for an option
        self._given: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse words that are left over here, where the options they resemble are known: argparse would leave them to
        the parser above."""
        self._given = list(args or ())
        found, left_over = super().parse_known_args(args, namespace)
        if left_over:
            self._refuse_words(left_over)
        return found, left_over

    def error(self, message: str) -> NoReturn:
        unknown = [word for word in self._given if self._is_unknown(word)]
        if "required" in message and unknown:
            self._refuse_words(unknown)
        valued = [pair for pair in zip(self._given, self._given[1:], strict=False) if self._is_starved(*pair)]
        if "expected one argument" in message and valued:
            flag, value = valued[0]
            message += f"; a value that begins with a minus is written {flag}={value}"
        super().error(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if not isinstance(action, argparse._SubParsersAction) or value in action.choices:
            super()._check_value(action, value)
            return
        # `topics --create --topic orders`: the option is the mistake, and not the word behind it.
        unknown = [word for word in self._given if self._is_unknown(word)]
        meant = [word for word in unknown if self._meant_action(word)]
        if unknown:
            self._refuse_words(meant or unknown)
        kind = str(action.metavar).lower()
        self._refuse(f"there is no {kind} {value}{did_you_mean(str(value), action.choices)}", f"{kind}s")

    def _refuse_words(self, words: Sequence[str]) -> NoReturn:
        """Refuse the first option among the words, which is the mistake; what follows it was perhaps its value."""
        word = next((each for each in words if each.startswith("-") and each != "-"), None)
        if word is None:
            self._refuse(f"nothing is known to do with {' '.join(words)}", "arguments")
        flag = word.partition("=")[0]
        known_as, word_of = KAFKA_OPTIONS.get(flag), flag.strip("-").upper()
        if known_as in self._option_string_actions:
            hint = f"; here it is {known_as}"
        elif word_of in [each.metavar for each in self._actions if not each.option_strings]:
            hint = f"; it is named without an option, `{self.prog} {word_of}`"
        else:
            hint = did_you_mean(flag, self._long_options()) or self._meant_action(flag)
        self._refuse(f"there is no option {flag}{hint}", "options")

    def _refuse(self, problem: str, listed: str) -> NoReturn:
        complain(f"{problem}\n`{self.prog} --help` lists the {listed}")
        raise SystemExit(USAGE)

    def _long_options(self) -> Iterable[str]:
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    def _meant_action(self, flag: str) -> str:
        """Return a hint if an action was meant: `topics --list`, as Kafka's tools have it, is `topics list` with us."""
        commands = [each.choices for each in self._actions if isinstance(each, argparse._SubParsersAction)]
        found = nearest(flag.strip("-"), [name for names in commands for name in names])
        return f"; did you mean `{self.prog} {found[0]}`?" if found else ""

    def _is_unknown(self, word: str) -> bool:
        return word.startswith("--") and word != "--" and word.partition("=")[0] not in self._option_string_actions

    def _is_starved(self, flag: str, value: str) -> bool:
        action = self._option_string_actions.get(flag)
        return action is not None and action.nargs is None and value.startswith("-") and not _VALUE.match(value)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """argparse's formatter, but: line breaks of descriptions stay; long options leave the help text some room and name
    their value once; commands stand in one column; an argument that needs no words has none. The methods overridden are
    private to argparse, and only the looks of the help depend on them."""

    def __init__(self, prog: str, indent_increment: int = 2, max_help_position: int = 30, width: int | None = None):
        super().__init__(prog, indent_increment, max_help_position, width or terminal_columns() - 2)

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


def terminal_columns() -> int:
    """Return what `shutil.get_terminal_size` would. Each option of each parser asks for it, help or no help, and
    `shutil` would import three compression libraries into every command."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns <= 0 and sys.__stdout__ is not None:
        with contextlib.suppress(AttributeError, ValueError, OSError):  # closed, detached, or no terminal
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
    return columns if columns > 0 else 80


def epilog(examples: str = "", exit_codes: str = EXIT_CODES) -> str:
    lines = examples.strip("\n").rstrip().split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    shown = "".join(f"  {line[margin:]}\n" for line in lines)
    return f"examples:\n{shown}\n{exit_codes.rstrip()}" if examples else exit_codes.rstrip()


def add_command(
    actions: "Actions", name: str, help_text: str, *, description: str = "", examples: str = "", has_json: bool = True
) -> argparse.ArgumentParser:
    """Add a command, or an action of one. Its description is the help text unless there is more to say."""
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
    """Parse `KEY=VALUE`, as an argument's type. The value may be empty and may have further `=` in it."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name.strip(), value.strip()


def count(text: str) -> int:
    """Parse a number of things, 1 or more, as an argument's type."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return number
