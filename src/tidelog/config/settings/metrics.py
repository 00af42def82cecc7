"""Metrics.

What the node measures about itself, and what clients send about themselves.
"""

from tidelog.config import unserved
from tidelog.config.endpoints import parse_address
from tidelog.config.kinds import INT, LIST, LONG, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import MIB, SECOND_MS
from tidelog.config.validators import Validator, at_least, entries, one_of_ignoring_case


def _no_address(text: str) -> str:
    try:
        parse_address(text)
    except ValueError:
        return "not host:port"
    return ""


METRICS_LISTENER = optional(
    "metrics.listener",
    STRING,
    "Where the node tells its metrics over HTTP, to Prometheus (`/metrics`) and to health checks (`/healthz`, "
    "`/readyz`): host:port. Port 0 takes a free one. Without it, nowhere. There is neither encryption nor "
    "authentication on it: bind it where only your monitoring can reach it.",
    validator=Validator("host:port", _no_address),
    importance=Importance.MEDIUM,
    differs="Kafka has no such setting: its metrics are told over JMX.",
)

SAMPLES = table(
    setting("metrics.num.samples", INT, 2, "Samples kept for a rate.", validator=at_least(1)),
    setting("metrics.sample.window.ms", LONG, 30 * SECOND_MS, "The length of each sample.", validator=at_least(1)),
    setting("metrics.recording.level", STRING, "INFO",
            "How much is measured: INFO, DEBUG or TRACE.", validator=one_of_ignoring_case("INFO", "DEBUG", "TRACE")),
    importance=Importance.LOW,
    harmless=unserved.OF_JAVA_METRICS,
)  # fmt: skip

TELEMETRY = table(
    setting("telemetry.max.bytes", INT, MIB,
            "The largest set of metrics that a client may push at once, after compression.",
            validator=at_least(1), importance=Importance.LOW),
    harmless=unserved.OF_CLIENT_TELEMETRY,
)  # fmt: skip

REPORTERS = table(
    setting("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",),
            "Java classes that report metrics.", validator=entries(empty=True), scope=Scope.CLUSTER_WIDE),
    setting("kafka.metrics.reporters", LIST, (),
            "Java classes that report the older metrics.", validator=entries(empty=True)),
    setting("kafka.metrics.polling.interval.secs", INT, 10, "How often those reporters poll.", validator=at_least(1)),
    importance=Importance.LOW,
    harmless=unserved.OF_JAVA_METRICS,
)  # fmt: skip
