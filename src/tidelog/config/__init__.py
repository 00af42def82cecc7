"""Every setting, declared once, and everything that follows from the declaration.

    loaded = load_broker_config(text, "server.properties")     # ConfigError lists all that is wrong
    loaded.config.get(requests.MESSAGE_MAX_BYTES)              # an int, to the type checker too
    loaded.config.topic_config(overrides).retention_ms         # resolved once, read as an attribute

`settings` holds the declarations, `load` reads files, `dynamic` and `alter` change a running cluster, `describe`
answers DescribeConfigs, `reference` renders the page. All of it is pure: text and values in, values out.
"""

from tidelog.config.alter import (
    Alteration,
    AlterOp,
    alter_broker,
    alter_client_metrics,
    alter_group,
    alter_topic,
)
from tidelog.config.broker_config import BrokerConfig, redacted
from tidelog.config.describe import (
    ConfigEntry,
    ConfigSynonym,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)
from tidelog.config.dynamic import AppliedConfig, apply_dynamic
from tidelog.config.group_config import GroupConfig
from tidelog.config.kinds import ConfigType
from tidelog.config.layers import ConfigSource
from tidelog.config.listener_plan import ListenerPlan
from tidelog.config.load import DEVELOPMENT_PROPERTIES, LoadedConfig, load_broker_config
from tidelog.config.password import Password
from tidelog.config.problems import ConfigError, ConfigWarning, Notice, Problem, sum_up
from tidelog.config.properties import format_properties, parse_properties
from tidelog.config.setting import Setting
from tidelog.config.topic_config import TopicConfig

__all__ = [
    "AlterOp",
    "Alteration",
    "AppliedConfig",
    "BrokerConfig",
    "ConfigEntry",
    "ConfigError",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConfigWarning",
    "DEVELOPMENT_PROPERTIES",
    "GroupConfig",
    "ListenerPlan",
    "LoadedConfig",
    "Notice",
    "Password",
    "Problem",
    "Setting",
    "TopicConfig",
    "alter_broker",
    "alter_client_metrics",
    "alter_group",
    "alter_topic",
    "apply_dynamic",
    "describe_broker",
    "describe_client_metrics",
    "describe_cluster",
    "describe_group",
    "describe_topic",
    "format_properties",
    "load_broker_config",
    "parse_properties",
    "redacted",
    "sum_up",
]
