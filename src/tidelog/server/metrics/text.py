"""Prometheus's text format (0.0.4): HELP and TYPE once, then the family's samples, a bounded piece at a time."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from tidelog.server.metrics.declaration import NANOSECONDS_PER_S, Family, Sample
from tidelog.server.requests.request_metrics import BOUNDS_NS, Histogram

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# Between two looks at the clock. A log of very many segments takes long to sum up; the rest are a microsecond each.
LINES_A_PIECE: Final = 64

_LABEL_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})
_BOUNDS: Final = (*(f"{bound / NANOSECONDS_PER_S:g}" for bound in BOUNDS_NS), "+Inf")


def render(families: Iterable[Family], scrape: "Scrape") -> Iterator[str]:
    """A family that has nothing to tell is left out."""
    for family in families:
        lines = [f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}\n"]
        lines.append(f"# TYPE {family.name} {family.kind.value}\n")
        has_samples = False
        for sample in family.read(scrape):
            has_samples = True
            lines += _lines(family, sample)
            if len(lines) >= LINES_A_PIECE:
                yield "".join(lines)
                lines = []
        if has_samples:
            yield "".join(lines)


def _lines(family: Family, sample: Sample) -> list[str]:
    values, value = sample
    labels = values if isinstance(values, str) else labels_of(family.labels, values)
    if isinstance(value, Histogram):
        return _histogram(family.name, labels, value)
    return [f"{family.name}{{{labels}}} {value}\n" if labels else f"{family.name} {value}\n"]


def labels_of(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = zip(names, values, strict=True)
    return ",".join(f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in pairs)


def _histogram(name: str, labels: str, histogram: Histogram) -> list[str]:
    """Buckets are cumulative. Their sum is taken here and not from `total`, so that the two can never differ."""
    comma, braces = ("," if labels else ""), (f"{{{labels}}}" if labels else "")
    lines = []
    below = 0
    for bound, count in zip(_BOUNDS, histogram.counts, strict=True):
        below += count
        lines.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {below}\n')
    lines.append(f"{name}_sum{braces} {histogram.sum_ns / NANOSECONDS_PER_S}\n")
    lines.append(f"{name}_count{braces} {below}\n")
    return lines
