"""A strict reader of Prometheus's text format, for tests: whatever promtool would complain about is an error here."""

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL},?)*)\}})? (\S+)")
HEAD = re.compile(rf"# (HELP|TYPE) ({NAME}) (.+)")
KINDS = ("counter", "gauge", "histogram")
UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}

Labels = frozenset[tuple[str, str]]


class NotPrometheus(AssertionError):
    """The rule of the format that the text breaks."""


@dataclass
class Exposition:
    kinds: dict[str, str] = field(default_factory=dict)  # by family
    helps: dict[str, str] = field(default_factory=dict)
    samples: dict[str, dict[Labels, float]] = field(default_factory=dict)  # by the sample's own name

    def value(self, name: str, **labels: str) -> float:
        return self.samples[name][frozenset(labels.items())]

    def labels(self, name: str, label: str) -> list[str]:
        return sorted(dict(each)[label] for each in self.samples.get(name, {}))


def parse(text: str) -> Exposition:
    found = Exposition()
    family = ""
    if not text.endswith("\n"):
        raise NotPrometheus("the last line has no end")
    for line in text.removesuffix("\n").split("\n"):
        family = _head(found, family, line) if line.startswith("#") else _sample(found, family, line)
    _check_histograms(found)
    return found


def _head(found: Exposition, family: str, line: str) -> str:
    match = HEAD.fullmatch(line)
    if match is None:
        raise NotPrometheus(line)
    what, name, rest = match.groups()
    known = found.helps if what == "HELP" else found.kinds
    if name in known:
        raise NotPrometheus(f"{name} is there twice")
    if what == "TYPE" and (name != family or rest not in KINDS):
        raise NotPrometheus(line)
    if what == "TYPE" and (rest == "counter") != name.endswith("_total"):
        raise NotPrometheus(f"{name} is a {rest}")
    known[name] = rest
    return name


def _sample(found: Exposition, family: str, line: str) -> str:
    match = SAMPLE.fullmatch(line)
    if match is None:
        raise NotPrometheus(line)
    name = match[1]
    suffix = name.removeprefix(family)
    suffixes = ("_bucket", "_sum", "_count") if found.kinds.get(family) == "histogram" else ("",)
    if not family or not name.startswith(family) or suffix not in suffixes:
        raise NotPrometheus(f"{name} among the samples of {family}")
    pairs = [(key, _unescaped(value)) for key, value in re.findall(LABEL, match[2] or "")]
    labels = frozenset(pairs)
    series = found.samples.setdefault(name, {})
    if labels in series or len(dict(pairs)) < len(pairs):
        raise NotPrometheus(f"twice: {line}")
    series[labels] = float(match[5])
    return family


def _unescaped(value: str) -> str:
    return re.sub(r"\\.", lambda match: UNESCAPED[match[0]], value)


def _check_histograms(found: Exposition) -> None:
    for family in (name for name, kind in found.kinds.items() if kind == "histogram"):
        by_labels: dict[Labels, dict[float, float]] = {}
        for labels, value in found.samples[f"{family}_bucket"].items():
            others = frozenset(pair for pair in labels if pair[0] != "le")
            by_labels.setdefault(others, {})[float(dict(labels)["le"])] = value
        for labels, buckets in by_labels.items():
            counts = [buckets[bound] for bound in sorted(buckets)]
            if counts != sorted(counts) or counts[-1] != found.samples[f"{family}_count"][labels]:
                raise NotPrometheus(f"{family}: buckets {counts}")
            if float("inf") not in buckets or labels not in found.samples[f"{family}_sum"]:
                raise NotPrometheus(f"{family}: incomplete")
