"""The reference page of the options of source and sink, rendered from their declarations: `make docs` writes it, and
`make check` fails when the page differs from the declarations."""

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark_tidelog.declared import Declared
from pyspark_tidelog.kafka.catalogue import HONOURED, NO_EFFECT, REFUSED, REFUSED_FAMILIES, Accepted
from pyspark_tidelog.lake.catalogue import LAKE_OPTIONS
from pyspark_tidelog.sink.options import SINK_OPTIONS
from pyspark_tidelog.source.catalogue import SOURCE_OPTIONS
from pyspark_tidelog.source.schema import COLUMNS, DEFAULT_COLUMNS

_INTRO: Final = """\
# Options in Spark

<!-- Rendered by tools/docs.py from src/pyspark_tidelog. Do not edit. -->

`spark.read.format("tidelog")` and its three siblings take the options of Spark's own Kafka connector, with the same
names, defaults and precedence, and a few more. The case of a name does not matter. What is wrong, contradictory or not
known is refused before anything is read or written, with the option's name first.
"""
_COLUMNS: Final = """\
## Columns of a read

All are nullable, as in Spark's own connector. `headers` is there with `includeHeaders`; what is not there by default is
asked for with `columns` or a schema.
"""
_SOURCE: Final = "## Reading\n"
_SINK: Final = """\
## Writing

The rows have the columns `value` (string or binary) and, if wanted, `key`, `topic`, `partition` and `headers`.
"""
_LAKE: Final = """\
## Archiving

`archive` and `start_archive` of `pyspark_tidelog.lake` take these beside the options of a read.
"""
_HONOURED: Final = """\
## `kafka.*`: honoured

The names of Kafka's Java clients. One that belongs to reading may be given to a write too, and the other way round:
jobs share their options. It has no effect there.
"""
_NO_EFFECT: Final = """\
## `kafka.*`: accepted without effect

Our client does by itself what these are for, or has no such part. Where only some values are possible, others are
refused.
"""
_REFUSED: Final = """\
## `kafka.*`: refused

These would change what is read or written, and cannot be honoured. So is every `kafka.*` name that is on none of these
lists.
"""


def render() -> str:
    parts = [_INTRO, _COLUMNS, *_columns(), _SOURCE, *_options(SOURCE_OPTIONS.values(), "batch or stream")]
    parts += [_SINK, *_options(SINK_OPTIONS.values(), "batch or stream")]
    parts += [_LAKE, *_options(LAKE_OPTIONS.values(), "batch or stream")]
    parts += [_HONOURED, *_options(HONOURED.values(), "read or write")]
    parts += [_NO_EFFECT, *_accepted(), _REFUSED, *_refused()]
    return "\n".join(parts)


def _columns() -> Iterator[str]:
    rows = [(f"`{c.name}`", f"`{c.type}`", "yes" if c.name in DEFAULT_COLUMNS else "", c.doc) for c in COLUMNS.values()]
    return _table(("column", "type", "by default", "what it is"), rows)


def _options(declared: Iterable[Declared], scope: str) -> Iterator[str]:
    rows = ((f"`{each.name}`", _code(each.default), each.scope, each.doc) for each in declared)
    return _table(("option", "default", scope, "meaning"), rows)


def _accepted() -> Iterator[str]:
    rows = ((f"`{name}`", _possible(accepted), accepted.reason) for name, accepted in NO_EFFECT.items())
    return _table(("option", "values", "why"), rows)


def _possible(accepted: Accepted) -> str:
    if accepted.values:
        return "only " + ", ".join(f"`{value}`" for value in accepted.values)
    return "not " + ", ".join(f"`{value}`" for value in accepted.impossible) if accepted.impossible else "any"


def _refused() -> Iterator[str]:
    families = {f"{prefix}*": reason for prefix, reason in REFUSED_FAMILIES.items()}
    return _table(("option", "why"), ((f"`{name}`", reason) for name, reason in (REFUSED | families).items()))


def _code(default: str) -> str:
    return f"`{default}`" if default else ""


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
