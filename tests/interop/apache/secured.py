"""A node of Apache Kafka with a listener for each security protocol, and what a client needs to get in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.interop.apache.broker import format_directory, running_broker
from tests.support.certificates import Authority
from tests.support.ports import held_ports

USER, PASSWORD = "alice", 'wonder "land", = 100%'
KEY_PASSWORD = "opens the key"
WAIT_SECONDS_MAX = 30
# Long enough for Kafka, which takes no second authentication within a second of the first.
SESSION_MS = 1_800

_MODULE = "org.apache.kafka.common.security.{}.{}LoginModule required {};"


@dataclass
class SecuredNode:
    plain: str  # address of the listener without security
    ports: dict[str, int]  # by listener
    directory: Path  # of the certificates

    def settings(self, listener: str, mechanism: str = "", **changes: str) -> dict[str, str]:
        """Return the client settings with which this listener lets a client in. In `changes`, underscores stand for
        dots."""
        found = {"security.protocol": "SSL" if listener == "MUTUAL" else listener.removesuffix("_SHORT")}
        if "SSL" in found["security.protocol"]:
            found["ssl.truststore.location"] = str(self.directory / "authority.pem")
            found["ssl.truststore.type"] = "PEM"
        if listener == "MUTUAL":
            found["ssl.keystore.location"] = str(self.directory / "client.pem")
            found["ssl.key.password"] = KEY_PASSWORD
        if mechanism:
            found["sasl.mechanism"] = mechanism
            found["sasl.jaas.config"] = jaas(mechanism)
        return found | {name.replace("_", "."): value for name, value in changes.items()}

    def address(self, listener: str, host: str = "localhost") -> str:
        return f"{host}:{self.ports[listener]}"


def jaas(mechanism: str, password: str = PASSWORD) -> str:
    escaped = password.replace('"', '\\"')
    kind, name = ("plain", "Plain") if mechanism == "PLAIN" else ("scram", "Scram")
    return _MODULE.format(kind, name, f'username="{USER}" password="{escaped}"')


@contextmanager
def secured_node(jars: Path, directory: Path) -> Iterator[SecuredNode]:
    listeners = ("SSL", "MUTUAL", "SASL_SSL", "SASL_PLAINTEXT", "SASL_PLAINTEXT_SHORT")
    ports = dict(zip(listeners, held_ports(len(listeners)), strict=True))
    write_certificates(directory)
    settings = _settings(ports, directory)
    format_directory(jars, directory / "data", settings)
    with running_broker(jars, directory / "data", settings) as bootstrap:
        _add_scram_user(bootstrap)
        yield SecuredNode(bootstrap, ports, directory)


def write_certificates(directory: Path) -> None:
    """Write the certificates. The broker's is for `localhost` and not for the address, so that a client which connects
    by address finds the wrong name."""
    authority = Authority("the authority of this test")
    (directory / "authority.pem").write_text(authority.pem)
    (directory / "stranger.pem").write_text(Authority("nobody's authority").pem)
    (directory / "broker.pem").write_text("".join(authority.sign("broker", "localhost")))
    (directory / "client.pem").write_text("".join(authority.sign("client", password=KEY_PASSWORD)))
    (directory / "impostor.pem").write_text("".join(Authority("nobody's").sign("client")))


def _settings(ports: dict[str, int], directory: Path) -> dict[str, str]:
    named = "".join(f",{name}://localhost:{port}" for name, port in ports.items())
    protocols = {name: "SSL" if name == "MUTUAL" else name.removesuffix("_SHORT") for name in ports}
    # The properties file takes backslashes as escapes, so they are doubled.
    user = PASSWORD.replace("\\", "\\\\").replace('"', '\\\\"')
    plain = _MODULE.format("plain", "Plain", f'user_{USER}="{user}"')
    scram = _MODULE.format("scram", "Scram", "")
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}" + named,
        "advertised.listeners": "PLAINTEXT://127.0.0.1:{port}" + named,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        + ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "authority.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.sasl_plaintext_short.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext_short.plain.connections.max.reauth.ms": str(SESSION_MS),
    }
    for name in (name for name in ports if name.startswith("SASL")):
        settings[f"listener.name.{name.lower()}.plain.sasl.jaas.config"] = plain
        settings[f"listener.name.{name.lower()}.scram-sha-256.sasl.jaas.config"] = scram
        settings[f"listener.name.{name.lower()}.scram-sha-512.sasl.jaas.config"] = scram
    return settings


def _add_scram_user(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})  # kept alive: its answers end with it
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):  # one a request
        wanted = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        for done in admin.alter_user_scram_credentials([wanted]).values():
            done.result(WAIT_SECONDS_MAX)
