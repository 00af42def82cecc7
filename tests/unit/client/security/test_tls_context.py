"""Files and texts in PEM become a context; one that is not valid is reported by the name of its setting."""

import ssl
from pathlib import Path

import pytest
from tests.support.certificates import Authority

from tidelog.client.security.errors import SettingError
from tidelog.client.security.settings import security_of
from tidelog.client.security.tls_context import tls_context

OURS = Authority("ours")
CHAIN, KEY = OURS.sign("client")
_, OTHER_KEY = OURS.sign("other")
LOCKED_CHAIN, LOCKED_KEY = OURS.sign("client", password="secret")


def context_of(**settings: str) -> ssl.SSLContext:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    tls = security_of({"security.protocol": "SSL"} | given).tls
    assert tls is not None
    return tls_context(tls)


def test_what_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "trust.pem"
    path.write_text(f"ein Schlüsselbund\n{OURS.pem}another\n{Authority('second').pem}")
    context = context_of(ssl_truststore_location=str(path))
    assert len(context.get_ca_certs()) == 2
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert len(context_of(ssl_truststore_certificates=OURS.pem).get_ca_certs()) == 1
    unchecked = context_of(ssl_endpoint_identification_algorithm="")
    assert (unchecked.verify_mode, unchecked.check_hostname) == (ssl.CERT_REQUIRED, False)


def test_what_is_shown(tmp_path: Path) -> None:
    both = tmp_path / "client.pem"
    both.write_text(LOCKED_KEY + LOCKED_CHAIN)
    context_of(ssl_keystore_location=str(both), ssl_key_password="secret")
    context_of(ssl_keystore_certificate_chain=CHAIN, ssl_keystore_key=KEY)


@pytest.mark.parametrize(
    ("settings", "name", "problem"),
    [
        ({"ssl_truststore_location": "/none/at/all"}, "ssl.truststore.location", "No such file"),
        ({"ssl_truststore_certificates": "secret"}, "ssl.truststore.certificates", "BEGIN and END"),
        ({"ssl_truststore_certificates": KEY}, "ssl.truststore.certificates", "no certificate"),
        (
            {"ssl_keystore_certificate_chain": CHAIN, "ssl_keystore_key": OTHER_KEY},
            "ssl.keystore.key",
            "not the key of the certificate",
        ),
        (
            {"ssl_keystore_certificate_chain": LOCKED_CHAIN, "ssl_keystore_key": LOCKED_KEY},
            "ssl.key.password",
            "must be given",
        ),
        (
            {
                "ssl_keystore_certificate_chain": LOCKED_CHAIN,
                "ssl_keystore_key": LOCKED_KEY,
                "ssl_key_password": "secrets",
            },
            "ssl.key.password",
            "does not open",
        ),
        (
            {"ssl_keystore_certificate_chain": KEY, "ssl_keystore_key": KEY},
            "ssl.keystore.certificate.chain",
            "no certificate",
        ),
    ],
)
def test_what_cannot_be_read(settings: dict[str, str], name: str, problem: str) -> None:
    with pytest.raises(SettingError) as told:
        context_of(**settings)
    assert str(told.value).startswith(f"{name}: ")
    assert problem in str(told.value)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("setting", "command"),
    [("ssl_truststore_location", "keytool -list -rfc -keystore"), ("ssl_keystore_location", "keytool -importkeystore")],
)
def test_a_store_of_javas_says_how_to_convert_it(tmp_path: Path, setting: str, command: str) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(SettingError, match=command) as told:
        context_of(**{setting: str(store)})
    assert str(store) in str(told.value)
