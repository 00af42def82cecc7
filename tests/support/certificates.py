"""Certificates for tests: an authority, and what it signs, as PEM text."""

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

A_DAY = timedelta(days=1)


class Authority:
    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        identity = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = _builder(self._name, self._name, self._key, -A_DAY, A_DAY).add_extension(constraints, True)
        builder = builder.add_extension(identity, False).add_extension(usage, True)
        self.pem = _text(builder.sign(self._key, hashes.SHA256()))

    def sign(
        self,
        name: str,
        host: str = "",
        *,
        password: str | None = None,
        valid_from: timedelta = -A_DAY,
        valid_to: timedelta = A_DAY,
    ) -> tuple[str, str]:
        """Return a certificate and its key. `host` is a name or an address that the certificate is for."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(subject, self._name, key, valid_from, valid_to)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, False)
        if host:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host)]), False)
        return _text(builder.sign(self._key, hashes.SHA256())), _key_text(key, password)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    valid_from: timedelta,
    valid_to: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now + valid_from).not_valid_after(now + valid_to)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey, password: str | None) -> str:
    encryption: KeySerializationEncryption = NoEncryption()
    if password is not None:
        encryption = BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()
