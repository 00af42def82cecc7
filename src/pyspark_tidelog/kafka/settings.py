"""`kafka.*` options as the settings of our client. Options that it cannot honour are refused (see
`kafka.catalogue`)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from pyspark_tidelog.declared import Given, lowered, nearest
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.catalogue import HONOURED, NO_EFFECT, PREFIX, REFUSED, REFUSED_FAMILIES
from tidelog.client.addresses import parse_bootstrap
from tidelog.client.record import Acks
from tidelog.client.security.errors import SettingError
from tidelog.client.security.security import PLAINTEXT, Security
from tidelog.client.security.settings import security_of
from tidelog.records.compression import DEFAULT_LEVEL, LEVELS, CompressionType

if TYPE_CHECKING:
    from tidelog.client.client import Client

_ACKS: Final[dict[str, int]] = {"all": -1, "-1": -1, "1": 1, "0": 0}
_ISOLATIONS: Final = ("read_uncommitted", "read_committed")
_CODECS: Final = {codec.name.lower(): codec for codec in CompressionType}


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options by which a cluster is reached. They are part of every task."""

    bootstrap: str
    client_id: str
    request_timeout_ms: int
    retry_timeout_ms: int
    rack: str | None
    security: Security = PLAINTEXT

    def connect(self, *, is_patient: bool = False) -> "Client":
        """Return a client, which has sent nothing yet. `is_patient`: the job has reached the cluster before, so a
        broker that does not answer is waited for, and not taken for a wrong address. OptionError where a file for TLS
        is missing or wrong on this machine."""
        from tidelog.client.client import Client

        with _options_told():
            return Client(
                self.bootstrap,
                client_id=self.client_id,
                request_timeout_ms=self.request_timeout_ms,
                retry_timeout_ms=self.retry_timeout_ms,
                is_patient=is_patient,
                security=self.security,
            )


@dataclass(frozen=True, slots=True)
class FetchSettings:
    max_bytes: int = 50 << 20
    partition_bytes: int = 2 << 20
    max_wait_ms: int = 500
    min_bytes: int = 1
    verify_crc: bool = True
    read_committed: bool = False


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    acks: Acks
    idempotent: bool
    compression: CompressionType
    compression_level: int | None
    linger_ms: int
    batch_bytes: int
    buffer_bytes: int
    delivery_timeout_ms: int
    transaction_timeout_ms: int
    is_timeout_given: bool = False  # where not, a cluster that allows less gets a shorter transaction_timeout_ms


def cluster_options(options: Mapping[str, str]) -> ClusterOptions:
    """Return how to reach the cluster. OptionError for a wrong value, and for any `kafka.*` name that is not
    supported."""
    check_kafka_names(options)
    given = Given(options, HONOURED)
    retrying = "kafka.default.api.timeout.ms"
    if retrying not in given and "kafka.max.block.ms" in given:
        retrying = "kafka.max.block.ms"
    return ClusterOptions(
        bootstrap=_bootstrap(given),
        client_id=given.text("kafka.client.id") or "",
        request_timeout_ms=given.number("kafka.request.timeout.ms", 1),
        retry_timeout_ms=given.number(retrying, 1),
        rack=given.text("kafka.client.rack"),
        security=_security(options),
    )


def fetch_settings(options: Mapping[str, str]) -> FetchSettings:
    given = Given(options, HONOURED)
    return FetchSettings(
        max_bytes=given.number("kafka.fetch.max.bytes", 1),
        partition_bytes=given.number("kafka.max.partition.fetch.bytes", 1),
        max_wait_ms=given.number("kafka.fetch.max.wait.ms"),
        min_bytes=given.number("kafka.fetch.min.bytes"),
        verify_crc=given.flag("kafka.check.crcs"),
        read_committed=given.choice("kafka.isolation.level", _ISOLATIONS) == "read_committed",
    )


def producer_settings(options: Mapping[str, str]) -> ProducerSettings:
    given = Given(options, HONOURED)
    acks = cast(Acks, _ACKS[given.choice("kafka.acks", tuple(_ACKS))])
    codec = _CODECS[given.choice("kafka.compression.type", tuple(_CODECS))]
    return ProducerSettings(
        acks=acks,
        idempotent=_is_idempotent(given, acks),
        compression=codec,
        compression_level=_compression_level(given, codec),
        linger_ms=given.number("kafka.linger.ms"),
        batch_bytes=given.number("kafka.batch.size", 1),
        buffer_bytes=given.number("kafka.buffer.memory", 1),
        delivery_timeout_ms=given.number("kafka.delivery.timeout.ms", 1),
        transaction_timeout_ms=given.number("kafka.transaction.timeout.ms", 1),
        is_timeout_given="kafka.transaction.timeout.ms" in given,
    )


def _bootstrap(given: Given) -> str:
    name = "kafka.bootstrap.servers"
    found = given.text(name)
    if found is None:
        raise OptionError(name, "must be given", "write host:port of a broker, several with commas between")
    try:
        parse_bootstrap(found)
    except ValueError as error:
        raise OptionError(name, str(error), "write host:port of a broker, several with commas between") from None
    return found


def _security(options: Mapping[str, str]) -> Security:
    given = {name.removeprefix(PREFIX): value for name, value in lowered(options).items() if name in HONOURED}
    with _options_told():
        return security_of(given)


@contextmanager
def _options_told() -> Iterator[None]:
    """Raise an error about a client's setting as an OptionError, with the name that the setting has in Spark."""
    try:
        yield
    except SettingError as error:
        raise OptionError(PREFIX + error.setting, error.problem, error.step) from None


def _is_idempotent(given: Given, acks: Acks) -> bool:
    """Tell whether the producer is idempotent, by Java's rules: on by default, silently off for weaker acks, and an
    error where both idempotence and weaker acks are asked for."""
    name = "kafka.enable.idempotence"
    wanted = given.flag(name)
    if wanted and acks != -1 and name in given:
        raise OptionError(name, f"needs kafka.acks all, and {acks} was asked for", "change one of the two")
    return wanted and acks == -1


def _compression_level(given: Given, codec: CompressionType) -> int | None:
    """Return the level for the codec in use. The levels of the other codecs are checked all the same."""
    levels = {}
    for each, allowed in LEVELS.items():
        name = f"kafka.compression.{each.name.lower()}.level"
        found = given.number(name, min(-1, allowed.start))
        if found != DEFAULT_LEVEL[each] and found not in allowed:
            problem = f"{each.name.lower()} has no level {found}"
            raise OptionError(name, problem, f"choose from {allowed.start} to {allowed.stop - 1}")
        levels[each] = found
    return levels.get(codec)


def check_kafka_names(options: Mapping[str, str]) -> None:
    for name, value in lowered(options).items():
        if name.startswith(PREFIX) and name not in HONOURED:
            _check_unhonoured(name, value)


def _check_unhonoured(name: str, value: str) -> None:
    accepted = NO_EFFECT.get(name)
    if accepted is not None:
        text = value.strip().lower()
        if text in accepted.impossible or (accepted.values and text not in accepted.values):
            raise OptionError(name, f"{value!r} cannot be done: {accepted.reason}")
        return
    reason = REFUSED.get(name) or next(
        (each for family, each in REFUSED_FAMILIES.items() if name.startswith(family)), None
    )
    if reason is not None:
        raise OptionError(name, f"is not supported: {reason}")
    step = nearest(name, [*HONOURED, *NO_EFFECT])
    raise OptionError(name, "is not known to Kafka's clients, or cannot be honoured here", step)
