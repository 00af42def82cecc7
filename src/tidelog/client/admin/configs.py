"""Settings of topics, brokers, groups and client metrics: read them with their source, change them one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from tidelog.client.admin.base import AdminBase
from tidelog.metadata.configs import ResourceType
from tidelog.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.list_config_resources import ListConfigResourcesRequest


class ConfigSource(IntEnum):
    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class AlterOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(slots=True)
class ConfigSynonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(slots=True)
class ConfigEntry:
    name: str
    value: str | None  # None: it is sensitive, or not set
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    documentation: str = ""
    synonyms: list[ConfigSynonym] = field(default_factory=list)

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT


@dataclass(slots=True)
class ConfigChange:
    name: str
    value: str | None = None
    operation: AlterOperation = AlterOperation.SET


class ConfigAdmin(AdminBase):
    def describe_configs(
        self,
        kind: ResourceType,
        name: str,
        keys: Sequence[str] | None = None,
        *,
        synonyms: bool = False,
        documentation: bool = False,
    ) -> dict[str, ConfigEntry]:
        """Return all settings of a resource, or those that `keys` names, by name."""
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
        )
        request = DescribeConfigsRequest(
            resources=[resource], include_synonyms=synonyms, include_documentation=documentation
        )
        asked = f"describe the configs of {_whose(kind, name)}"
        response = self.client.ask(request, asked, node_id=self._owner(kind, name))
        found = response.results[0]
        self.require(found.error_code, asked, found.error_message)
        return {each.name: _entry(each) for each in found.configs}

    def alter_configs(
        self, kind: ResourceType, name: str, changes: Sequence[ConfigChange], *, validate_only: bool = False
    ) -> None:
        """Make all of the changes or none of them. Settings that no change names stay as they are."""
        configs = [AlterableConfig(name=c.name, config_operation=c.operation, value=c.value) for c in changes]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
        asked = f"alter the configs of {_whose(kind, name)}"
        response = self.client.ask(
            request, asked, node_id=self._owner(kind, name), failed=lambda each: each.responses[0].error_code
        )
        found = response.responses[0]
        self.require(found.error_code, asked, found.error_message)

    def set_configs(self, kind: ResourceType, name: str, values: Mapping[str, str]) -> None:
        self.alter_configs(kind, name, [ConfigChange(key, value) for key, value in values.items()])

    def unset_configs(self, kind: ResourceType, name: str, keys: Sequence[str]) -> None:
        self.alter_configs(kind, name, [ConfigChange(key, None, AlterOperation.DELETE) for key in keys])

    def list_config_resources(self, kinds: Sequence[ResourceType] = ()) -> list[tuple[ResourceType, str]]:
        """List the resources that have settings: those of the kinds given, or of every kind where none is given."""
        asked = "list the resources that have configs"
        response = self.client.ask(ListConfigResourcesRequest(resource_types=list(kinds)), asked)
        self.require(response.error_code, asked)
        return [(ResourceType(each.resource_type), each.resource_name) for each in response.config_resources]

    def _owner(self, kind: ResourceType, name: str) -> int | None:
        """Return the broker to ask: a broker's settings only that broker can tell, all others any broker (None)."""
        is_one_broker = kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and name.isdigit()
        return int(name) if is_one_broker else None


def _whose(kind: ResourceType, name: str) -> str:
    return "all brokers" if kind is ResourceType.BROKER and not name else f"{kind.name.lower()} {name}"


def _entry(found: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=found.name,
        value=found.value,
        source=_source(found.config_source),
        is_read_only=found.read_only,
        is_sensitive=found.is_sensitive,
        documentation=found.documentation or "",
        synonyms=[ConfigSynonym(each.name, each.value, _source(each.source)) for each in found.synonyms],
    )


def _source(number: int) -> ConfigSource:
    """Return the source with that number; UNKNOWN for one that only a newer broker knows."""
    return ConfigSource(number) if number in list(ConfigSource) else ConfigSource.UNKNOWN
