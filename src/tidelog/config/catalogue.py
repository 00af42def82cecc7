"""Every setting there is, found by name. The declarations stay in `settings`, as plain constants or as rows of a table;
here they are gathered, in the order in which people read them."""

import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from tidelog.config.setting import Setting
from tidelog.config.settings import (
    cleaner,
    client_metrics,
    group,
    groups,
    kerberos_oauth,
    listeners,
    log,
    metadata_log,
    metrics,
    node,
    quorum,
    quotas,
    replication,
    requests,
    sasl,
    security,
    share,
    streams,
    threads,
    tiered,
    tls,
    topic,
    transactions,
)
from tidelog.config.table import Table
from tidelog.model.lazy_dataclass import dataclass

AnySetting = Setting[Any]
_LISTENER_PREFIX = re.compile(r"listener\.name\.([^.]*)\.(.*)")
# These belong to one mechanism of a listener: listener.name.<listener>.<mechanism>.<name>.
_OF_A_MECHANISM = (
    sasl.SASL_JAAS_CONFIG,
    sasl.SASL_LOGIN_CALLBACK_HANDLER_CLASS,
    sasl.SASL_LOGIN_CLASS,
    sasl.SASL_SERVER_CALLBACK_HANDLER_CLASS,
    sasl.CONNECTIONS_MAX_REAUTH_MS,
)


@dataclass(slots=True, frozen=True)
class Section:
    title: str
    intro: str
    settings: tuple[AnySetting, ...]


def _section(module: ModuleType) -> Section:
    title, _, intro = (module.__doc__ or "").strip().partition(".\n\n")
    return Section(title, " ".join(intro.split()), tuple(_declared(module)))


def _declared(module: ModuleType) -> Iterator[AnySetting]:
    """Yield the settings of a module in the order of its constants: those with a name, and the rows of its tables."""
    for value in vars(module).values():
        if isinstance(value, Setting):
            yield value
        elif isinstance(value, Table):
            yield from value.settings


BROKER_SECTIONS = tuple(
    _section(module)
    for module in (
        node,
        quorum,
        metadata_log,
        listeners,
        requests,
        log,
        cleaner,
        tiered,
        replication,
        groups,
        share,
        transactions,
        quotas,
        tls,
        sasl,
        security,
        metrics,
        threads,
        kerberos_oauth,
        streams,
    )
)
TOPIC_SECTION, GROUP_SECTION, CLIENT_METRICS_SECTION = map(_section, (topic, group, client_metrics))
SECTIONS = (*BROKER_SECTIONS, TOPIC_SECTION, GROUP_SECTION, CLIENT_METRICS_SECTION)

BROKER: dict[str, AnySetting] = {each.name: each for section in BROKER_SECTIONS for each in section.settings}
TOPIC: dict[str, AnySetting] = {each.name: each for each in TOPIC_SECTION.settings}
GROUP: dict[str, AnySetting] = {each.name: each for each in GROUP_SECTION.settings}
CLIENT_METRICS: dict[str, AnySetting] = {each.name: each for each in CLIENT_METRICS_SECTION.settings}

__all__ = ["BROKER", "CLIENT_METRICS", "GROUP", "SECTIONS", "TOPIC", "Section", "base_of", "broker_setting", "nearest"]


def base_of(name: str) -> str | None:
    """Return the name without a listener's prefix: `ssl.keystore.location` for
    `listener.name.internal.ssl.keystore.location`; None without such a prefix."""
    match = _LISTENER_PREFIX.fullmatch(name)
    if not match:
        return None
    return next((each.name for each in _OF_A_MECHANISM if match[2].endswith(f".{each.name}")), match[2])


def broker_setting(name: str) -> AnySetting | None:
    """Return the broker setting that `name` sets, for one listener or for all."""
    return BROKER.get(base_of(name) or name)


def nearest(name: str, known: Mapping[str, AnySetting]) -> str | None:
    """Return the known name that `name` was most likely meant to be: what a topic or group calls a broker's setting,
    the other way round, or what is spelled much like it."""
    for each in known.values():
        if any(synonym.setting.name == name for synonym in each.synonyms):
            return each.name
    of_others = (TOPIC.get(name) or GROUP.get(name)) if known is BROKER else None
    if of_others is not None and of_others.synonyms:
        return of_others.synonyms[0].setting.name
    import difflib  # for mistakes only

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return close[0] if close else None
