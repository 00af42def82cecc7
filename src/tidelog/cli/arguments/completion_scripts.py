"""The completion scripts. Each walks over the words before the cursor to find the command, then offers what belongs
there: its actions, its options, the choices of an option or argument, the names of topics and groups, and files
everywhere else. The names are asked of the cluster that the line names (`tidelog completion topics` and `groups`).
"""

from collections.abc import Iterable, Iterator

from tidelog.cli.arguments.tree import CommandNode, Option

BASH = """\
# tidelog completion for bash; made by `tidelog completion bash`
_tidelog_names() {{
    local pattern='(^| )(-b|--bootstrap|--bootstrap-server)[ =]([^ ]+)' where=()
    [[ $COMP_LINE =~ $pattern ]] && where=(-b "${{BASH_REMATCH[3]}}")
    "${{COMP_WORDS[0]}}" completion "$1" "${{where[@]}}" 2>/dev/null
}}
_tidelog() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path/$word" in
            {paths}) path="$path/$word" ;;
        esac
    done
    case "$path $prev" in
{values}
    esac
    local words="" names=""
    case "$path" in
{words}
    esac
    [[ -n $names && $cur != -* ]] && words="$words $(_tidelog_names $names)"
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _tidelog tidelog
"""

ZSH = """\
#compdef tidelog
# tidelog completion for zsh; made by `tidelog completion zsh`
_tidelog_names() {{
    local -a where
    [[ "${{(j: :)words}}" =~ '(^| )(-b|--bootstrap|--bootstrap-server)[ =]([^ ]+)' ]] && where=(-b "$match[3]")
    compadd -- ${{(f)"$("${{words[1]}}" completion $1 $where 2>/dev/null)"}}
}}
_tidelog() {{
    local route="" word names=""
    local -a found
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$route/$word" in
            {paths}) route="$route/$word" ;;
        esac
    done
    case "$route ${{words[CURRENT-1]}}" in
{values}
    esac
    case "$route" in
{words}
    esac
    if [[ -n $names && $PREFIX != -* ]]; then _tidelog_names $names && return; fi
    _describe tidelog found || _files
}}
if [[ ${{funcstack[1]}} == _tidelog ]]; then _tidelog "$@"; else compdef _tidelog tidelog; fi
"""

FISH_HEAD = """\
# tidelog completion for fish; made by `tidelog completion fish`
function __tidelog_at
    set -l route ""
    for word in (commandline -opc)[2..-1]
        contains -- "$route/$word" {paths}; and set route "$route/$word"
    end
    test "$route" = "$argv[1]"
end
function __tidelog_names
    set -l where (string match -rg '(?:^| )(?:-b|--bootstrap|--bootstrap-server)[ =]([^ ]+)' (commandline -c))
    test -n "$where"; and set where -b $where
    tidelog completion $argv[1] $where 2>/dev/null
end
complete -c tidelog -f -n '__tidelog_at ""'
"""


def bash(tree: CommandNode) -> str:
    nodes = tree.walk()
    values = [
        f"        {_any(node, option.flags)}) {_bash_value(option)}; return ;;"
        for node in nodes
        for option in _valued(node)
    ]
    words = [f'        "{_route(node)}") words="{" ".join(_words(node))}" names="{node.names}" ;;' for node in nodes]
    return BASH.format(paths=_paths(nodes), values="\n".join(values), words="\n".join(words))


def _bash_value(option: Option) -> str:
    """Return the bash code that offers an option's values. Where nothing is offered bash completes files (`-o
    default`), unless it is told that the value is no file."""
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur"))'
    if option.names:
        return f'COMPREPLY=($(compgen -W "$(_tidelog_names {option.names})" -- "$cur"))'
    return "COMPREPLY=()" if option.takes_file else "compopt +o default"


def zsh(tree: CommandNode) -> str:
    nodes = tree.walk()
    values = [
        f"        {_any(node, option.flags)}) {_zsh_value(option)}; return ;;"
        for node in nodes
        for option in _valued(node)
    ]
    words = [
        f'        "{_route(node)}") names="{node.names}" found=({" ".join(_described(node))}) ;;' for node in nodes
    ]
    return ZSH.format(paths=_paths(nodes), values="\n".join(values), words="\n".join(words))


def _zsh_value(option: Option) -> str:
    if option.choices:
        return f"compadd -- {' '.join(option.choices)}"
    if option.names:
        return f"_tidelog_names {option.names}"
    return "_files" if option.takes_file else f"_message {_zsh_text(option.value)}"


def _zsh_text(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def fish(tree: CommandNode) -> str:
    nodes = tree.walk()
    paths = " ".join(_route(node) for node in nodes if node.path)
    return FISH_HEAD.format(paths=paths) + "".join(line + "\n" for node in nodes for line in _fish_lines(node))


def _fish_lines(node: CommandNode) -> Iterator[str]:
    here = f"complete -c tidelog -n '__tidelog_at \"{_route(node)}\"'"
    for child in node.children:
        yield f"{here} -f -a {child.path[-1]} -d {_fish_text(child.help)}"
    if node.names:
        yield f"{here} -a '(__tidelog_names {node.names})'"
    for argument in node.arguments:
        if argument.choices:
            yield f"{here} -f -a {_fish_text(' '.join(argument.choices))}"
    for option in node.options:
        flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
        yield f"{here} {flags}{_fish_value(option)} -d {_fish_text(option.help)}"


def _fish_value(option: Option) -> str:
    if option.choices:
        return f" -x -a {_fish_text(' '.join(option.choices))}"
    if option.names:
        return f" -x -a '(__tidelog_names {option.names})'"
    return " -r -F" if option.takes_file else " -x" if option.value else ""


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# Shared by all shells


def _route(node: CommandNode) -> str:
    return "".join(f"/{name}" for name in node.path)


def _paths(nodes: Iterable[CommandNode]) -> str:
    return "|".join(_route(node) for node in nodes if node.path)


def _any(node: CommandNode, flags: tuple[str, ...]) -> str:
    return "|".join(f'"{_route(node)} {flag}"' for flag in flags)


def _valued(node: CommandNode) -> list[Option]:
    return [option for option in node.options if option.value]


def _words(node: CommandNode) -> list[str]:
    flags = [flag for option in node.options for flag in option.flags]
    choices = [choice for argument in node.arguments for choice in argument.choices]
    return [*(child.path[-1] for child in node.children), *choices, *flags]


def _described(node: CommandNode) -> list[str]:
    children = [(child.path[-1], child.help) for child in node.children]
    choices = [(choice, argument.help) for argument in node.arguments for choice in argument.choices]
    flags = [(flag, option.help) for option in node.options for flag in option.flags]
    return [_zsh_text(f"{word}:{text}" if text else word) for word, text in (*children, *choices, *flags)]
