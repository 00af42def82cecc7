"""Stores of Java's are refused with the command that makes them PEM: what Python has for TLS reads nothing else."""

from tidelog.client.security.errors import SettingError


def not_pem(setting: str, location: str | None, *, is_key: bool, kind: str = "") -> SettingError:
    what = f"{kind} stores are not read, only PEM is" if kind else "is not PEM"
    if location is None:
        return SettingError(setting, what, "paste it with its BEGIN and END lines")
    return SettingError(setting, what, converted_by(location, is_key=is_key))


def converted_by(location: str, *, is_key: bool) -> str:
    if is_key:
        p12 = f"keytool -importkeystore -srckeystore {location} -destkeystore store.p12 -deststoretype PKCS12"
        command = f"{p12} && openssl pkcs12 -in store.p12 -nodes -out keystore.pem"
    else:
        command = f"keytool -list -rfc -keystore {location} > truststore.pem"
    return f"convert it with: {command}"
