"""What a client wants of a connection: plain values, which travel to other machines. Does not import `ssl` or what else
the exchange itself needs: most clients need none of it, and importing it takes its time."""

from dataclasses import dataclass, field
from typing import Final

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
PLAIN: Final = "PLAIN"
HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS: Final = (PLAIN, *HASHES)


@dataclass(frozen=True, slots=True)
class Pem:
    """Certificates or a key in PEM, in a file or as text. `setting` is the setting that gave it, for errors."""

    setting: str
    location: str | None = None
    text: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TlsSettings:
    trust: Pem | None = None  # None: what the system trusts
    chain: Pem | None = None  # our own certificate, where the broker asks for one
    key: Pem | None = None  # None: it is where the chain is
    key_password: str | None = field(default=None, repr=False)
    checks_host: bool = True
    protocols: tuple[str, ...] = TLS_VERSIONS


@dataclass(frozen=True, slots=True)
class SaslSettings:
    mechanism: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Security:
    """TLS and SASL of a client's connections; None is without."""

    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None

    @property
    def protocol(self) -> str:
        return SECURITY_PROTOCOLS[(self.tls is not None) + 2 * (self.sasl is not None)]


PLAINTEXT: Final = Security()
