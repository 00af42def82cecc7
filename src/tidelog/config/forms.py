"""The validators of settings with a form of their own: addresses, names of classes that stand for something built
in, and the few texts that Kafka gives a syntax."""

import re
from collections.abc import Callable

from tidelog.config.endpoints import (
    is_host,
    parse_address,
    parse_listener,
    parse_pairs,
    parse_protocol_map,
    parse_voter,
)
from tidelog.config.validators import Validator, all_of, between, entries, matches, one_of

DEFAULT_PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

_MATCH_PARAMETERS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def _complaint(parse: Callable[[str], object], text: str) -> str:
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""


def _each(parse: Callable[[str], object], words: str, *, empty: bool) -> Validator[tuple[str, ...]]:
    """Return a validator by which every entry of a list must parse."""
    none_blank = entries(empty=empty)

    def check(values: tuple[str, ...]) -> str:
        return none_blank.check(values) or next(filter(None, (_complaint(parse, value) for value in values)), "")

    return Validator(words, check)


LISTENERS = _each(parse_listener, "a list of NAME://host:port, not empty", empty=False)
VOTERS = _each(parse_voter, "a list of id@host:port", empty=True)
BOOTSTRAP_SERVERS = _each(parse_address, "a list of host:port", empty=True)
PROTOCOL_MAP: Validator[str] = Validator(
    "NAME:PROTOCOL pairs with one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
    lambda text: _complaint(parse_protocol_map, text),
)


def _check_ip_overrides(text: str) -> str:
    complaint = _complaint(parse_pairs, text)
    if complaint:
        return complaint
    for host, count in parse_pairs(text).items():
        if not is_host(host):
            return f"{host!r} is not a host"
        if not re.fullmatch("[0-9]{1,9}", count):
            return f"{count!r} is not a number of connections"
    return ""


IP_OVERRIDES: Validator[str] = Validator("host:count pairs", _check_ip_overrides)


def _check_throttled(values: tuple[str, ...]) -> str:
    if values == ("*",):
        return ""
    bad = [value for value in values if not re.fullmatch("([0-9]+:[0-9]+)?", value)]
    return f"{bad[0]!r} is not partition:broker" if bad else ""


THROTTLED_REPLICAS: Validator[tuple[str, ...]] = Validator("* or a list of partition:broker", _check_throttled)

# ISO 8601 as Java reads it: days to seconds, in either case, never negative.
_DURATION = r"(?i:P(?=[0-9T])([0-9]+D)?(T(?=[0-9.])([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{0,9})?S)?)?)"
AUTO_OFFSET_RESET = matches(
    rf"earliest|latest|by_duration:{_DURATION}", "earliest, latest or by_duration: with a duration like P1DT2H30M"
)


def _check_match(values: tuple[str, ...]) -> str:
    for value in values:
        name, equals, pattern = value.partition("=")
        if not equals or name.strip() not in _MATCH_PARAMETERS or "=" in pattern:
            return f"{value!r} is not name=pattern with a known name"
        try:
            re.compile(pattern.strip())
        except re.error:
            return f"{pattern.strip()!r} is not a regular expression"
    return entries(empty=True).check(values)


MATCH_PATTERNS: Validator[tuple[str, ...]] = Validator(
    f"a list of name=pattern with name one of {', '.join(_MATCH_PARAMETERS)}", _check_match
)

CODEC_ID = between(0, 4)
CONSUMER_ASSIGNORS = all_of("uniform", "range", empty=False)
SHARE_ASSIGNORS = all_of("simple", empty=False)
REPLICA_SELECTOR = one_of(RACK_AWARE_SELECTOR)
SUPER_USERS = matches(r"([^;:]+:[^;]+(;|$))*", "User:name entries separated by semicolons")
