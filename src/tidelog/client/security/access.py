"""Security as connections use it: the settings of a client with their files read, once, when the client is made."""

import ssl

from tidelog.client.security.security import SaslSettings, Security
from tidelog.client.security.tls_context import tls_context


class Access:
    def __init__(self, security: Security) -> None:
        """Read the files that the settings name. SettingError where one does not hold what it should."""
        self.protocol = security.protocol
        self.sasl: SaslSettings | None = security.sasl
        self.tls: ssl.SSLContext | None = None if security.tls is None else tls_context(security.tls)
        self.shows_certificate = security.tls is not None and security.tls.chain is not None
