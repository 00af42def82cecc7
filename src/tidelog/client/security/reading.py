"""Reads the files that the security settings name, where there are any: PLAINTEXT imports nothing of TLS or SASL."""

from typing import TYPE_CHECKING

from tidelog.client.security.security import PLAINTEXT, Security

if TYPE_CHECKING:
    from tidelog.client.security.access import Access


def access_of(security: Security) -> "Access | None":
    """Read the files of the settings. None for PLAINTEXT, which needs nothing to be imported."""
    if security == PLAINTEXT:
        return None
    from tidelog.client.security.access import Access

    return Access(security)
