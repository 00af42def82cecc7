"""The page docs/metrics.md, made from the declarations."""

from tidelog.server.metrics.catalogue import SECTIONS
from tidelog.server.metrics.declaration import Family, Section
from tidelog.server.requests.request_metrics import BOUNDS_NS

_INTRODUCTION = """\
# Metrics

Made from the declarations in `src/tidelog/server/metrics_*.py` by `make docs`; not to be edited.

With `metrics.listener=HOST:PORT` (see [the settings](reference/config.md)), or `tidelog dev --metrics-port PORT`, a
node answers HTTP there:

| path | what it tells |
|---|---|
| `/metrics` | what follows, for Prometheus |
| `/healthz` | 200 whenever the loop turns, from the first moments of a start on |
| `/readyz` | 200 when clients can be sent here: running, not fenced, log directories online; otherwise 503 and why |

```yaml
scrape_configs:
  - job_name: tidelog
    static_configs:
      - targets: ["localhost:9404"]
```

The listener has neither encryption nor authentication: bind it to an address that only your monitoring reaches.

Names are those by which the usual JMX exporters show Kafka's beans, so dashboards and alerts fit with few changes. What
differs: a rate (`...PerSec`) is a counter, of which Prometheus makes a rate (`rate(..._total[5m])`); a time is a
histogram in seconds (`..._seconds`), where Kafka tells percentiles in milliseconds (`...Ms`), so percentiles come from
`histogram_quantile` and can be taken over several brokers. What has no name of Kafka's is only here."""


def render() -> str:
    bounds = ", ".join(f"{bound / 1e9:g}" for bound in BOUNDS_NS)
    histograms = f"Histograms have the buckets {bounds} and +Inf."
    return "\n\n".join([_INTRODUCTION, histograms, *(_section(each) for each in SECTIONS)]) + "\n"


def _section(section: Section) -> str:
    head = "| name | type | labels | meaning | Kafka's bean |\n|---|---|---|---|---|"
    table = "\n".join([head, *(_row(family) for family in section.families)])
    return "\n\n".join(part for part in (f"## {section.title}", section.text, table) if part)


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    kafka = f"`{family.kafka}`" if family.kafka else ""
    return f"| `{family.name}` | {family.kind.value} | {labels} | {family.help} | {kafka} |"
