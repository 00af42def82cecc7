"""The settings, by Kafka's names (librdkafka's, where those are in wide use), read into what a connection needs."""

from collections.abc import Mapping
from typing import Final

from tidelog.client.security.errors import SettingError
from tidelog.client.security.jaas import NAME as JAAS
from tidelog.client.security.jaas import parse_jaas
from tidelog.client.security.security import (
    HASHES,
    MECHANISMS,
    PLAIN,
    SECURITY_PROTOCOLS,
    TLS_VERSIONS,
    Pem,
    SaslSettings,
    Security,
    TlsSettings,
)
from tidelog.client.security.stores import converted_by, not_pem

# Name, default, meaning.
SETTINGS: Final = (
    ("security.protocol", "PLAINTEXT", "`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`, as the listener has it"),
    ("ssl.truststore.location", "", "PEM file with the authorities to trust; the system's, where nothing is said"),
    ("ssl.truststore.type", "", "only `PEM`; `JKS` and `PKCS12` are refused with the command that converts them"),
    ("ssl.truststore.certificates", "", "the authorities to trust themselves, in PEM"),
    ("ssl.ca.location", "", "librdkafka's name for `ssl.truststore.location`"),
    ("ssl.keystore.location", "", "PEM file with our certificate chain and its private key, for brokers that ask"),
    ("ssl.keystore.type", "", "as `ssl.truststore.type`"),
    ("ssl.keystore.certificate.chain", "", "our certificate chain itself, in PEM"),
    ("ssl.keystore.key", "", "its private key itself, in PEM"),
    ("ssl.certificate.location", "", "librdkafka's: PEM file with our certificate chain"),
    ("ssl.key.location", "", "librdkafka's: PEM file with its private key"),
    ("ssl.key.password", "", "of the private key, where it is encrypted"),
    (
        "ssl.endpoint.identification.algorithm",
        "https",
        "whether a broker's certificate has to name the host that we connect to; empty: it does not",
    ),
    ("ssl.enabled.protocols", "TLSv1.2,TLSv1.3", "versions of TLS"),
    ("sasl.mechanism", "", "`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`. Must be given for SASL"),
    ("sasl.mechanisms", "", "librdkafka's name for `sasl.mechanism`"),
    (JAAS, "", 'user and password, as Java has them: `...ScramLoginModule required username="..." password="...";`'),
    ("sasl.username", "", "librdkafka's: the user, instead of `sasl.jaas.config`"),
    ("sasl.password", "", "librdkafka's: the password, instead of `sasl.jaas.config`"),
)
SETTING_NAMES: Final = frozenset(name for name, _default, _doc in SETTINGS)

_MODULES: Final = {PLAIN: "PlainLoginModule", **dict.fromkeys(HASHES, "ScramLoginModule")}
_REFUSED_MECHANISMS: Final = {
    "GSSAPI": "Kerberos is not supported",
    "OAUTHBEARER": "OAuth is not supported",
}


def security_of(settings: Mapping[str, str]) -> Security:
    """Read the security settings out of all settings of a client. Other settings are passed over; SettingError for one
    of security that is unknown or cannot be followed."""
    given = {name: value.strip() for name, value in settings.items() if _is_ours(name)}
    for name in sorted(given.keys() - SETTING_NAMES):
        raise _unknown(name, given)
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise SettingError(
            "security.protocol", f"{protocol!r} is not possible", f"choose {' or '.join(SECURITY_PROTOCOLS)}"
        )
    _check_in_use(given, protocol)
    tls = _tls(given) if protocol.endswith("SSL") else None
    return Security(tls, _sasl(given) if protocol.startswith("SASL") else None)


def _is_ours(name: str) -> bool:
    return name == "security.protocol" or name.startswith(("ssl.", "sasl."))


def _unknown(name: str, given: Mapping[str, str]) -> SettingError:
    store = name.removesuffix(".password")
    if store not in ("ssl.truststore", "ssl.keystore"):
        return SettingError(name, "is not supported", f"known are {', '.join(sorted(SETTING_NAMES))}")
    step = converted_by(given.get(f"{store}.location", "STORE"), is_key=store == "ssl.keystore")
    return SettingError(name, "only stores of Java's have a password, and only PEM is read", step)


def _check_in_use(given: Mapping[str, str], protocol: str) -> None:
    """Refuse settings of TLS or SASL that the protocol does not use: somebody who gives a password expects it to be
    asked for."""
    for name in given:
        if name.startswith("ssl.") and not protocol.endswith("SSL"):
            step = "set security.protocol to SSL or SASL_SSL, or leave it out"
            raise SettingError(name, f"means nothing with security.protocol {protocol}", step)
        if name.startswith("sasl.") and not protocol.startswith("SASL"):
            step = "set security.protocol to SASL_SSL or SASL_PLAINTEXT, or leave it out"
            raise SettingError(name, f"means nothing with security.protocol {protocol}", step)


# TLS


def _tls(given: Mapping[str, str]) -> TlsSettings:
    _check_stores(given)
    trust = _pem(given, "ssl.truststore.location", "ssl.ca.location", text="ssl.truststore.certificates")
    chain = _pem(given, "ssl.keystore.location", "ssl.certificate.location", text="ssl.keystore.certificate.chain")
    key = _pem(given, "ssl.key.location", text="ssl.keystore.key")
    if key is not None and chain is None:
        raise SettingError(key.setting, "is a key without a certificate", "give the certificate chain as well")
    if chain is not None and key is None and chain.setting != "ssl.keystore.location":
        raise SettingError(chain.setting, "is a certificate without a key", "give ssl.keystore.key or ssl.key.location")
    return TlsSettings(
        trust=trust,
        chain=chain,
        key=key,
        key_password=given.get("ssl.key.password") or None,
        checks_host=_checks_host(given),
        protocols=_versions(given),
    )


def _check_stores(given: Mapping[str, str]) -> None:
    for store, is_key in (("truststore", False), ("keystore", True)):
        kind = given.get(f"ssl.{store}.type", "PEM").upper()
        if kind != "PEM":
            location = given.get(f"ssl.{store}.location", f"{store}.{kind.lower()}")
            raise not_pem(f"ssl.{store}.type", location, is_key=is_key, kind=kind)


def _pem(given: Mapping[str, str], *locations: str, text: str) -> Pem | None:
    found = [name for name in (*locations, text) if given.get(name)]
    if len(found) > 1:
        raise SettingError(found[1], f"says what {found[0]} says", "give one of the two")
    if not found:
        return None
    (name,) = found
    return Pem(name, text=given[name]) if name == text else Pem(name, location=given[name])


def _checks_host(given: Mapping[str, str]) -> bool:
    name = "ssl.endpoint.identification.algorithm"
    found = given.get(name, "https").lower()
    if found not in ("https", "", "none"):
        raise SettingError(name, f"{found!r} is not possible", "choose https, or leave it empty for no check")
    return found == "https"


def _versions(given: Mapping[str, str]) -> tuple[str, ...]:
    name = "ssl.enabled.protocols"
    found = tuple(each.strip() for each in given.get(name, ",".join(TLS_VERSIONS)).split(",") if each.strip())
    if not found or not set(found) <= set(TLS_VERSIONS):
        raise SettingError(name, "is not possible", f"choose from {', '.join(TLS_VERSIONS)}")
    return found


# SASL


def _sasl(given: Mapping[str, str]) -> SaslSettings:
    mechanism = (given.get("sasl.mechanism") or given.get("sasl.mechanisms") or "").upper()
    choice = f"choose {' or '.join(MECHANISMS)}"
    if not mechanism:
        raise SettingError("sasl.mechanism", "must be given: Kafka's default, GSSAPI, is not supported", choice)
    if mechanism not in MECHANISMS:
        reason = _REFUSED_MECHANISMS.get(mechanism, "it is not supported")
        raise SettingError("sasl.mechanism", f"{mechanism} is not possible: {reason}", choice)
    setting, user, password = _credentials(given, mechanism)
    if not user or not password:
        raise SettingError(setting, "has no user name, or no password")
    if mechanism == PLAIN and "\0" in user + password:
        raise SettingError(setting, "has a user name or a password with a zero byte, which PLAIN cannot send")
    return SaslSettings(mechanism, user, password)


def _credentials(given: Mapping[str, str], mechanism: str) -> tuple[str, str, str]:
    if JAAS not in given:
        names = ("sasl.username", "sasl.password")
        missing = next((name for name in names if not given.get(name)), None)
        if missing is not None:
            raise SettingError(missing, "must be given", f"or {JAAS}, as Java has it")
        return names[0], given[names[0]], given[names[1]]
    for name in ("sasl.username", "sasl.password"):
        if name in given:
            raise SettingError(name, f"says what {JAAS} says", "give one of the two")
    return _of_jaas(given[JAAS], mechanism)


def _of_jaas(text: str, mechanism: str) -> tuple[str, str, str]:
    module = parse_jaas(text)
    if module.name != _MODULES[mechanism]:
        named = module.name if module.name.endswith("LoginModule") else "another login module"
        raise SettingError(JAAS, f"is for {named}; sasl.mechanism {mechanism} goes with {_MODULES[mechanism]}")
    if module.options.keys() - {"username", "password"}:  # not named: with wrong quotes it may be part of a secret
        raise SettingError(JAAS, "has options other than username and password, and no other is supported")
    return JAAS, module.options.get("username", ""), module.options.get("password", "")
