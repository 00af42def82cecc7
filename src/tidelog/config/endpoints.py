"""Addresses as settings write them: `NAME://host:port`, `id@host:port`, `host:port`, and `NAME:PROTOCOL` maps.

Everything here reads one piece of text and says in a ValueError what is wrong with it; how pieces must agree with
each other is the business of the rules.
"""

import re
from enum import Enum

from tidelog.model.lazy_dataclass import dataclass

_HOST = r"[0-9a-zA-Z\-%._:]*"
_LISTENER = re.compile(rf"(.*)://\[?({_HOST})\]?:([0-9]+)")
_ADDRESS = re.compile(rf"(?:[0-9a-zA-Z\-%._]*://)?\[?({_HOST})\]?:([0-9]+)")
_PORT_MAX = 65_535

WILDCARD_HOST = "0.0.0.0"


class SecurityProtocol(Enum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


@dataclass(slots=True, frozen=True)
class Listener:
    """A name and an address to listen at; `host` is empty for every interface. Names are compared in upper case, as
    Kafka does."""

    name: str
    host: str
    port: int


@dataclass(slots=True, frozen=True)
class Address:
    host: str
    port: int


@dataclass(slots=True, frozen=True)
class Voter:
    node_id: int
    address: Address


def parse_listener(text: str) -> Listener:
    match = _LISTENER.fullmatch(text)
    if not match or not match[1]:
        raise ValueError(f"{text!r} is not NAME://host:port")
    return Listener(match[1].upper(), match[2], _port(match[3], text))


def parse_address(text: str) -> Address:
    match = _ADDRESS.fullmatch(text)
    if not match or not match[1]:
        raise ValueError(f"{text!r} is not host:port")
    return Address(match[1], _port(match[2], text))


def parse_voter(text: str) -> Voter:
    node_id, at, address = text.partition("@")
    if not at or not re.fullmatch("[0-9]{1,10}", node_id) or "@" in address:
        raise ValueError(f"{text!r} is not id@host:port")
    return Voter(int(node_id), parse_address(address))


def parse_pairs(text: str) -> dict[str, str]:
    """Return the pairs of `a:1, b:2`. The last colon parts key from value, because an IPv6 address is a key too."""
    pairs: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        key, colon, value = entry.rpartition(":")
        if not colon or not key.strip() or not value.strip():
            raise ValueError(f"{entry!r} is not key:value")
        pairs[key.strip()] = value.strip()
    return pairs


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """Return the `NAME:PROTOCOL` pairs, names in upper case."""
    protocols = {protocol.value: protocol for protocol in SecurityProtocol}
    mapped: dict[str, SecurityProtocol] = {}
    for name, value in parse_pairs(text).items():
        if value.upper() not in protocols:
            raise ValueError(f"{value!r} is not a security protocol")
        mapped[name.upper()] = protocols[value.upper()]
    return mapped


def is_host(text: str) -> bool:
    return bool(text) and re.fullmatch(_HOST, text) is not None


def _port(digits: str, text: str) -> int:
    port = int(digits) if len(digits) <= 5 else _PORT_MAX + 1
    if port > _PORT_MAX:
        raise ValueError(f"the port of {text!r} is above {_PORT_MAX}")
    return port
