"""Client metrics subscriptions.

Settings of one subscription to the metrics that clients push (KIP-714).
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import INT, LIST
from tidelog.config.setting import Scope, setting
from tidelog.config.table import table
from tidelog.config.units import HOUR_MS, MINUTE_MS
from tidelog.config.validators import between, entries

METRICS = setting(
    "metrics",
    LIST,
    (),
    "The metrics to push, by prefix of their names; `*` is all of them, empty is none.",
    validator=entries(empty=True),
    scope=Scope.CLIENT_METRICS,
    refused=unserved.NO_CLIENT_TELEMETRY,
)

INTERVAL_MS = setting(
    "interval.ms",
    INT,
    5 * MINUTE_MS,
    "How often a client pushes.",
    validator=between(100, HOUR_MS),
    scope=Scope.CLIENT_METRICS,
    differs=(
        "Out of range is refused with the value itself; Apache's table of settings has no limits and checks them apart."
    ),
    refused=unserved.NO_CLIENT_TELEMETRY,
)

MATCHING = table(
    setting("match", LIST, (),
            "Which clients the subscription is for, as `name=regular expression` with one of client_instance_id, "
            "client_id, client_software_name, client_software_version, client_source_address, client_source_port.",
            validator=forms.MATCH_PATTERNS, scope=Scope.CLIENT_METRICS),
    refused=unserved.NO_CLIENT_TELEMETRY,
)  # fmt: skip
