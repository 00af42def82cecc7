"""The reference page of all settings, rendered from the declarations: `python -m tidelog.config.reference` prints it,
`make docs` writes it, and `make check` fails when it is not what the declarations say."""

import sys
from collections.abc import Iterator
from typing import Any

from tidelog.config.catalogue import BROKER_SECTIONS, CLIENT_METRICS_SECTION, GROUP_SECTION, SECTIONS, TOPIC_SECTION
from tidelog.config.catalogue import Section as SectionOfSettings
from tidelog.config.setting import Scope, Setting
from tidelog.config.units import humanize

_INTRO = """\
# Configuration reference

<!-- Rendered by `python -m tidelog.config.reference` from src/tidelog/config/settings. Do not edit. -->

Tidelog reads an unmodified `server.properties` of Kafka 4.3: the same names, types, defaults and limits. Where it
differs on purpose, the setting says so under **Differs**. What becomes of a setting that you set is in its column
*Support*:

| Support | What it means |
|---|---|
| honoured | the node acts on it |
| harmless | it is ignored, and nothing that anybody relies on is missing |
| refused | it asks for protection or behaviour that is not there yet, and the node does not start with it |

A harmless setting says why it is; a node lists those that its file sets when it starts. A refused one says what is
missing and what to do; a dynamic change to it is refused with INVALID_CONFIG. Its default, and no value at all, ask for
nothing and are accepted.

| Scope | Where it is set, and when it may change |
|---|---|
| read-only | `server.properties`; a restart applies it |
| per-broker | the same, or dynamically for one broker |
| cluster-wide | the same, or dynamically for one broker or for all of them |
| topic | for one topic; what it falls back to is named beside it |
| group | for one group; what it falls back to is named beside it |
| client metrics | for one subscription |

A value is looked up in this order: the topic or group, this broker (dynamic), all brokers (dynamic),
`server.properties`, the default. DescribeConfigs tells which of them it was.

A setting marked *per listener* may be set for one listener, as `listener.name.<listener>.<setting>`, and those that
belong to a SASL mechanism as `listener.name.<listener>.<mechanism>.<setting>`, all in lower case. Such names are
refused or ignored as their settings are; no setting is honoured for one listener alone yet.

A bad value is refused with file, line, what was given and what is valid; all of them at once. An unknown setting is a
warning with the name that was probably meant; on the command line (`--override`), in the testing kit and as a dynamic
change it is refused.

A refused setting that is already in the metadata log (an Apache controller wrote it, or an earlier version) is left
out, and the node says so in an error line whenever it starts: only a running node can take it out.
"""


def render() -> str:
    return "\n".join([_INTRO, _contents(), *(line for section in SECTIONS for line in _section(section))])


def _contents() -> str:
    parts = (("Nodes", BROKER_SECTIONS), ("Other", (TOPIC_SECTION, GROUP_SECTION, CLIENT_METRICS_SECTION)))
    lines = [f"- {title}: " + ", ".join(map(_link, sections)) for title, sections in parts]
    return "## Contents\n\n" + "\n".join(lines) + "\n"


def _link(section: SectionOfSettings) -> str:
    return f"[{section.title}](#{_anchor(section.title)})"


def _anchor(title: str) -> str:
    return "".join(char for char in title.lower().replace(" ", "-") if char.isalnum() or char == "-")


def _section(section: SectionOfSettings) -> Iterator[str]:
    yield f"## {section.title}\n\n{section.intro}\n"
    for setting in section.settings:
        if not setting.internal:
            yield _entry(setting)


def _entry(setting: Setting[Any]) -> str:
    prefix = _ANCHOR_PREFIXES.get(setting.scope, "")
    lines = [f'### <a id="{prefix}{setting.name}"></a>`{setting.name}`\n', f"{setting.doc}\n"]
    lines += ["| Type | Default | Valid | Scope | Support |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(_facts(setting))} |", ""]
    lines += [f"**{label}:** {text}\n" for label, text in _notes(setting) if text]
    return "\n".join(lines)


# A broker and a topic have settings of the same name; each needs an anchor of its own.
_ANCHOR_PREFIXES = {Scope.TOPIC: "topic-", Scope.GROUP: "group-", Scope.CLIENT_METRICS: "client-metrics-"}


def _facts(setting: Setting[Any]) -> tuple[str, ...]:
    scope = setting.scope.value + (", per listener" if setting.per_listener else "")
    if setting.dynamic_only:
        scope += ", only dynamically"
    valid = setting.valid.replace("|", "\\|")
    return setting.kind.type.name.lower(), _default(setting), valid, scope, setting.support.value


def _default(setting: Setting[Any]) -> str:
    if setting.required:
        return "none: must be set"
    if setting.default is None:
        return "not set"
    text = setting.format(setting.default)
    if not text:
        return "empty"
    meaning = humanize(setting.name, setting.default) if isinstance(setting.default, int | float) else ""
    return f"`{text}`" + (f" ({meaning})" if meaning else "")


def _notes(setting: Setting[Any]) -> Iterator[tuple[str, str]]:
    yield "Falls back to", ", then ".join(_fallback(each.setting.name, each.factor) for each in setting.synonyms)
    yield "In order", ", then ".join(f"`{name}`" for name in setting.family)
    yield "Harmless", setting.harmless
    yield "Refused", setting.refused
    yield "Differs", setting.differs


def _fallback(name: str, factor: int) -> str:
    return f"[`{name}`](#{name})" + ("" if factor == 1 else f" times {factor}")


if __name__ == "__main__":
    sys.stdout.write(render())
