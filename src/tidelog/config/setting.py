"""One setting: the single declaration from which everything else follows - parsing, validation, DescribeConfigs,
dynamic updates, redaction and the reference page.

`Setting` is generic in its value, so that `config.get(LOG_SEGMENT_BYTES)` is an int to the type checker. Settings are
compared by identity: `compression.type` of a broker and of a topic are two settings.
"""

from enum import Enum
from typing import Any, Generic, TypedDict, TypeVar, Unpack, cast

from tidelog.config.kinds import ConfigType, Kind
from tidelog.config.validators import Validator
from tidelog.model.lazy_dataclass import dataclass

V = TypeVar("V")


class Scope(Enum):
    """The extent to which a setting may be changed while the cluster runs. Each may also stand in server.properties,
    except those of topics, groups and client metrics."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"
    TOPIC = "topic"
    GROUP = "group"
    CLIENT_METRICS = "client metrics"


class Support(Enum):
    """The way in which the node treats a setting that somebody sets."""

    # The node acts on it.
    HONOURED = "honoured"
    # The node ignores it, which costs nobody anything, and lists those that are set when it starts.
    HARMLESS = "harmless"
    # It asks for protection or behaviour that is not there: the node does not start, and says what is missing.
    REFUSED = "refused"


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class InvalidValue(ValueError):
    """The error for text that is no value of the setting; the message says why."""


@dataclass(slots=True, frozen=True)
class Synonym:
    """A broker setting that stands in for a topic's or group's, and what its number is multiplied by."""

    setting: "Setting[Any]"
    factor: int = 1


@dataclass(slots=True, eq=False)
class Setting(Generic[V]):
    name: str
    kind: Kind[Any]
    default: V
    doc: str
    validator: Validator[Any] | None = None
    importance: Importance = Importance.MEDIUM
    scope: Scope = Scope.READ_ONLY
    # Broker settings that stand in when this one is not set, first one first.
    synonyms: tuple[Synonym, ...] = ()
    # Broker settings that say the same in another unit, this one included; the first that is set counts.
    family: tuple[str, ...] = ()
    # Why ignoring it is harmless. Known so that a stock file loads.
    harmless: str = ""
    # What is missing, and what to do instead: any value but the default, or none at all, is refused.
    refused: str = ""
    # Where we differ from Kafka on purpose, and why.
    differs: str = ""
    required: bool = False
    # Kafka lets it be changed while the broker runs; here that takes a restart, and a dynamic change is refused.
    restart_only: bool = False
    # May be set for one listener, as listener.name.<listener>.<name>.
    per_listener: bool = False
    # Only to be set on a running cluster, never in a file.
    dynamic_only: bool = False
    # Not shown by DescribeConfigs unless it was set, nor in the reference.
    internal: bool = False

    @property
    def is_sensitive(self) -> bool:
        return self.kind.type is ConfigType.PASSWORD

    @property
    def support(self) -> Support:
        if self.refused:
            return Support.REFUSED
        return Support.HARMLESS if self.harmless else Support.HONOURED

    def refusal(self, value: V) -> str:
        """Say why `value` is refused, whatever its form; "" where it is not, because it asks for nothing."""
        is_off = value == self.default or value is None or self.format(value) == ""
        return "" if is_off else self.refused.removesuffix(".")

    @property
    def valid(self) -> str:
        """The words that complete "valid: ..." in an error and in the reference."""
        return (self.validator.valid if self.validator else "{kind}").replace("{kind}", self.kind.label)

    def parse(self, text: str) -> V:
        """Return the value of `text`; InvalidValue says what is wrong."""
        try:
            value = self.kind.parse(text)
        except ValueError as error:
            raise InvalidValue(str(error)) from None
        self.check(value)
        return cast(V, value)

    def check(self, value: V) -> None:
        complaint = self.validator.check(value) if self.validator else ""
        if complaint:
            raise InvalidValue(complaint)

    def format(self, value: V) -> str | None:
        """Return the text of `value`, secrets included: for storing, never for showing."""
        return None if value is None else self.kind.format(value)

    def __repr__(self) -> str:
        return f"<Setting {self.name}>"


class Facts(TypedDict, total=False):
    """The arguments that a declaration may add to name, type, default and doc; the fields of `Setting`."""

    validator: Validator[Any]
    importance: Importance
    scope: Scope
    synonyms: tuple[Synonym, ...]
    family: tuple[str, ...]
    harmless: str
    refused: str
    differs: str
    restart_only: bool
    per_listener: bool
    dynamic_only: bool
    internal: bool


def setting(name: str, kind: Kind[V], default: V, doc: str, **facts: Unpack[Facts]) -> Setting[V]:
    return Setting(name, kind, default, doc, **facts)


def optional(name: str, kind: Kind[V], doc: str, **facts: Unpack[Facts]) -> Setting[V | None]:
    """Declare a setting that has no value unless one is set."""
    return Setting[V | None](name, kind, None, doc, **facts)


def required(name: str, kind: Kind[V], doc: str, **facts: Unpack[Facts]) -> Setting[V]:
    """Declare a setting without which no node starts: a config that lacks it is never built, so None is never seen."""
    return Setting(name, kind, cast(V, None), doc, required=True, **facts)
