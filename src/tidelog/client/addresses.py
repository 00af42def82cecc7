"""The bootstrap list: `host:port` with commas between; an IPv6 address in brackets; port 9092 where none is said."""

from collections.abc import Sequence
from typing import Final

from tidelog.client.metadata import Node

DEFAULT_PORT: Final = 9092


def parse_bootstrap(bootstrap: str | Sequence[str]) -> list[Node]:
    """Return the nodes of a bootstrap list, with ids -1, -2, ... ValueError names the text that is no address."""
    texts = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
    found = [text.strip() for text in texts if text.strip()]
    if not found:
        raise ValueError("no bootstrap address; give one as host:port")
    return [Node(-1 - index, *_parse(text)) for index, text in enumerate(found)]


def _parse(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if text.startswith("[") and text.endswith("]"):
        host, colon, port = text, "", ""
    elif not colon:
        host = text
    if colon and (not port.isdigit() or int(port) > 65535):
        raise ValueError(f"not a bootstrap address (host:port): {text!r}")
    host = host.removeprefix("[").removesuffix("]")
    if not host:
        raise ValueError(f"not a bootstrap address (host:port): {text!r}")
    return host, int(port) if colon else DEFAULT_PORT
