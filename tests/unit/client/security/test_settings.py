"""Settings by Kafka's names: how they are read, and which are refused, without showing a secret."""

import pickle

import pytest

from tidelog.client.security.errors import SettingError
from tidelog.client.security.security import PLAINTEXT, Pem, SaslSettings, TlsSettings
from tidelog.client.security.settings import security_of

SCRAM = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "scram-sha-512"}
PLAIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
TLS = {"security.protocol": "SSL"}
JAAS = 'x.ScramLoginModule required username="alice" password="secret";'


def test_nothing_is_asked_for_by_default() -> None:
    assert security_of({}) == security_of({"security.protocol": "PLAINTEXT", "acks": "all"}) == PLAINTEXT
    assert PLAINTEXT.protocol == "PLAINTEXT"


def test_java_and_librdkafka_say_the_same_in_other_words() -> None:
    wanted = SaslSettings("SCRAM-SHA-512", "alice", "secret")
    java = security_of(SCRAM | {"sasl.jaas.config": JAAS})
    assert (java.sasl, java.tls, java.protocol) == (wanted, None, "SASL_PLAINTEXT")
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "SCRAM-SHA-512"}
    assert security_of(given | {"sasl.username": "alice", "sasl.password": "secret"}) == java


def test_tls_of_java() -> None:
    given = {
        "ssl.truststore.location": "/trust.pem",
        "ssl.truststore.type": "pem",
        "ssl.keystore.location": "/key.pem",
        "ssl.keystore.type": "PEM",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "",
        "ssl.enabled.protocols": "TLSv1.3",
    }
    trust, chain = Pem("ssl.truststore.location", "/trust.pem"), Pem("ssl.keystore.location", "/key.pem")
    assert security_of(TLS | given).tls == TlsSettings(trust, chain, None, "secret", False, ("TLSv1.3",))
    assert security_of(TLS).tls == TlsSettings()


def test_tls_in_the_settings_themselves_and_of_librdkafka() -> None:
    inline = {"ssl.truststore.certificates": "a", "ssl.keystore.certificate.chain": "b", "ssl.keystore.key": "c"}
    found = security_of(TLS | inline).tls
    assert found is not None
    assert found.trust == Pem("ssl.truststore.certificates", text="a")
    assert (found.chain, found.key) == (
        Pem("ssl.keystore.certificate.chain", text="b"),
        Pem("ssl.keystore.key", text="c"),
    )
    files = {"ssl.ca.location": "/a", "ssl.certificate.location": "/b", "ssl.key.location": "/c"}
    found = security_of(TLS | files).tls
    assert found is not None
    assert [each and each.location for each in (found.trust, found.chain, found.key)] == ["/a", "/b", "/c"]


@pytest.mark.parametrize(
    ("given", "name", "problem"),
    [
        ({"security.protocol": "TLS"}, "security.protocol", "SASL_SSL"),
        (PLAIN | {"sasl.mechanism": "GSSAPI"}, "sasl.mechanism", "Kerberos"),
        (PLAIN | {"sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism", "OAuth"),
        (PLAIN | {"sasl.mechanism": "DIGEST-MD5"}, "sasl.mechanism", "not supported"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism", "GSSAPI, is not supported"),
        (PLAIN, "sasl.username", "must be given"),
        (PLAIN | {"sasl.username": "alice"}, "sasl.password", "must be given"),
        (PLAIN | {"sasl.jaas.config": JAAS}, "sasl.jaas.config", "goes with PlainLoginModule"),
        (SCRAM | {"sasl.jaas.config": JAAS, "sasl.password": "secret"}, "sasl.password", "one of the two"),
        (SCRAM | {"sasl.jaas.config": JAAS.replace(";", " tokenauth=true;")}, "sasl.jaas.config", "other than"),
        (SCRAM | {"sasl.jaas.config": "x.ScramLoginModule required;"}, "sasl.jaas.config", "no user name"),
        (SCRAM | {"sasl.jaas.config": JAAS[:-1]}, "sasl.jaas.config", "semicolon"),
        (PLAIN | {"sasl.username": "a\0b", "sasl.password": "secret"}, "sasl.username", "zero byte"),
        (TLS | {"sasl.password": "secret"}, "sasl.password", "means nothing with security.protocol SSL"),
        ({"sasl.jaas.config": JAAS}, "sasl.jaas.config", "means nothing with security.protocol PLAINTEXT"),
        ({"ssl.ca.location": "/x"}, "ssl.ca.location", "SASL_SSL"),
        (TLS | {"ssl.truststore.password": "secret"}, "ssl.truststore.password", "keytool -list -rfc"),
        (
            TLS | {"ssl.keystore.password": "secret", "ssl.keystore.location": "/k.jks"},
            "ssl.keystore.password",
            "-srckeystore /k.jks",
        ),
        (TLS | {"ssl.cipher.suites": "x"}, "ssl.cipher.suites", "not supported"),
        (TLS | {"ssl.truststore.type": "JKS", "ssl.truststore.location": "/t.jks"}, "ssl.truststore.type", "keytool"),
        (TLS | {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k"}, "ssl.keystore.type", "openssl pkcs12"),
        (TLS | {"ssl.ca.location": "/x", "ssl.truststore.location": "/y"}, "ssl.ca.location", "one of the two"),
        (TLS | {"ssl.keystore.key": "secret"}, "ssl.keystore.key", "without a certificate"),
        (TLS | {"ssl.certificate.location": "/x"}, "ssl.certificate.location", "without a key"),
        (TLS | {"ssl.endpoint.identification.algorithm": "ldaps"}, "ssl.endpoint.identification.algorithm", "https"),
        (TLS | {"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"}, "ssl.enabled.protocols", "TLSv1.3"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(given: dict[str, str], name: str, problem: str) -> None:
    with pytest.raises(SettingError) as told:
        security_of(given)
    assert str(told.value).startswith(f"{name}: ")
    assert problem in str(told.value)
    assert "secret" not in str(told.value)
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)


def test_secrets_travel_and_are_not_shown() -> None:
    given = PLAIN | {"sasl.username": "alice", "sasl.password": "secret", "ssl.key.password": "secret"}
    inline = {"ssl.keystore.certificate.chain": "chain", "ssl.keystore.key": "secret"}
    security = security_of(given | inline)
    assert "secret" not in repr(security)
    assert "alice" in repr(security)
    assert pickle.loads(pickle.dumps(security)) == security
