"""The SSLContext that follows from the settings. Here the files are read."""

import os
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidelog.client.security.errors import SettingError
from tidelog.client.security.security import Pem, TlsSettings
from tidelog.client.security.stores import not_pem

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PEM: Final = b"-----BEGIN "


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context that the settings ask for. SettingError where a file does not hold what it should."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host
    versions = [_VERSIONS[name] for name in settings.protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if settings.trust is None:
        context.load_default_certs()
    else:
        _trust(context, settings.trust)
    if settings.chain is not None:
        _show(context, settings.chain, settings.key or settings.chain, settings.key_password)
    return context


def _trust(context: ssl.SSLContext, trust: Pem) -> None:
    # As in Java, every certificate in a trust store is trusted, also an intermediate authority's or a broker's own.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=_read(trust, is_key=False).decode("ascii", "ignore"))
    except ssl.SSLError:
        raise SettingError(trust.setting, "holds no certificate that can be read", "see that it is PEM") from None


def _show(context: ssl.SSLContext, chain: Pem, key: Pem, password: str | None) -> None:
    with _file(_read(chain, is_key=True)) as chain_path, _file(_read(key, is_key=True)) as key_path:
        try:
            # Without a password, OpenSSL would ask for one at the terminal and wait.
            context.load_cert_chain(chain_path, key_path, password or "")
        except ssl.SSLError as error:
            raise _unusable(chain, key, password, error) from None


def _unusable(chain: Pem, key: Pem, password: str | None, error: ssl.SSLError) -> SettingError:
    if error.reason == "KEY_VALUES_MISMATCH":
        return SettingError(key.setting, f"is not the key of the certificate in {chain.setting}")
    if error.reason in ("BAD_DECRYPT", "BAD_PASSWORD_READ", "MAYBE_WRONG_PASSWORD") or b"ENCRYPTED" in _read(key, True):
        problem = "does not open the private key" if password else "must be given: the private key is encrypted"
        return SettingError("ssl.key.password", problem)
    step = "it must hold the certificate chain and its private key in PEM"
    return SettingError(chain.setting, "holds no certificate and key that can be read", step)


def _read(pem: Pem, is_key: bool) -> bytes:
    if pem.location is None:
        data = (pem.text or "").encode()
    else:
        try:
            data = Path(pem.location).read_bytes()
        except OSError as error:
            step = "it is read on every machine that connects, the driver's and the executors'"
            raise SettingError(pem.setting, f"{pem.location}: {error.strerror or error}", step) from None
    if _PEM not in data:
        raise not_pem(pem.setting, pem.location, is_key=is_key)
    return data


@contextmanager
def _file(data: bytes) -> Iterator[str]:
    """Yield a path under which OpenSSL can read the data, as it reads keys from files only. On Linux the file is in
    memory."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("pem")
        with open(descriptor, "wb", buffering=0) as file:
            file.write(data)
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile() as file:  # readable by this user only
            file.write(data)
            file.flush()
            yield file.name
