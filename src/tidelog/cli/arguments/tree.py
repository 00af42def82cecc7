"""The commands as a tree of plain values, read from their parsers: what the reference page and the shell completions
are made of. So neither can say anything that the command line does not do.
"""

import argparse
from dataclasses import dataclass, field
from typing import Final

from tidelog.cli.commands import NAMES, build_parser

FILE_METAVARS: Final = ("FILE", "DIR", "DIRECTORY")
# Metavars of options and arguments whose values are names that a cluster can be asked for. `TOPIC[:0,1]` is one too.
KINDS_BY_ARGUMENT: Final = {"TOPIC": "topics", "GROUP": "groups"}
MADE_HERE: Final = (("topics", "create"),)  # commands in which an existing name would be wrong


@dataclass(slots=True)
class Option:
    flags: tuple[str, ...]
    value: str  # what its value is called; empty for a switch
    help: str
    choices: tuple[str, ...] = ()
    required: bool = False
    is_new: bool = False  # its value is the name of something to create

    @property
    def takes_file(self) -> bool:
        return self.value in FILE_METAVARS

    @property
    def names(self) -> str:
        """`topics` or `groups`, where the option's value is the name of one that exists; else empty."""
        if self.is_new:
            return ""
        by_flag = self.flags[-1].removeprefix("--").upper() if self.value == "NAME" else self.value
        return KINDS_BY_ARGUMENT.get(by_flag.partition("[")[0], "")


@dataclass(slots=True)
class Argument:
    name: str  # as usage shows it
    help: str
    is_optional: bool
    is_repeated: bool
    choices: tuple[str, ...] = ()

    @property
    def takes_file(self) -> bool:
        return self.name in FILE_METAVARS


@dataclass(slots=True)
class CommandNode:
    path: tuple[str, ...]
    help: str
    description: str
    epilog: str
    options: list[Option] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    children: list["CommandNode"] = field(default_factory=list)
    names: str = ""  # `topics` or `groups`, where the first arguments are the names of some
    one_of: list[list[str]] = field(default_factory=list)  # options of which one is needed, as usage shows them

    def walk(self) -> list["CommandNode"]:
        return [self, *(each for child in self.children for each in child.walk())]


def command_tree() -> CommandNode:
    return _node((), "", build_parser(NAMES))


def _node(path: tuple[str, ...], help_text: str, parser: argparse.ArgumentParser) -> CommandNode:
    node = CommandNode(path, help_text, parser.description or "", parser.epilog or "")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            node.children = [_node((*path, name), texts[name], child) for name, child in action.choices.items()]
        elif action.option_strings:
            node.options.append(_option(action))
            node.options[-1].is_new = path in MADE_HERE
        else:
            node.arguments.append(_argument(action))
    if node.arguments and path not in MADE_HERE:
        node.names = KINDS_BY_ARGUMENT.get(node.arguments[0].name, "")
    for group in parser._mutually_exclusive_groups:
        if group.required:
            node.one_of.append([_in_usage(_option(each)) for each in group._group_actions])
    return node


def _in_usage(option: Option) -> str:
    return f"{option.flags[-1]} {option.value}".strip()


def _option(action: argparse.Action) -> Option:
    takes_value = action.nargs != 0
    choices = _choices(action)
    value = _value_name(action, action.dest.upper(), choices) if takes_value else ""
    return Option(tuple(action.option_strings), value, _help(action), choices, action.required)


def _argument(action: argparse.Action) -> Argument:
    choices = _choices(action)
    name = _value_name(action, action.dest, choices)
    return Argument(name, _help(action), action.nargs in ("?", "*"), action.nargs in ("*", "+"), choices)


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def _value_name(action: argparse.Action, otherwise: str, choices: tuple[str, ...]) -> str:
    if action.metavar is None and choices:
        return "|".join(choices)
    return str(action.metavar or otherwise)


def _help(action: argparse.Action) -> str:
    text = action.help or ""
    return text % {"default": action.default} if "%" in text else text
