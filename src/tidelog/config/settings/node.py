"""Node and roles.

Who this node is, what it does in the cluster, and how it starts and stops.
"""

from tidelog.config import unserved
from tidelog.config.kinds import BOOLEAN, INT, LIST, LONG, STRING
from tidelog.config.setting import Importance, Scope, optional, required, setting
from tidelog.config.table import table
from tidelog.config.units import LONG_MAX, MINUTE_MS, SECOND_MS
from tidelog.config.validators import all_of, at_least

PROCESS_ROLES = required(
    "process.roles",
    LIST,
    "What this node is: `broker`, `controller`, or both in one process.",
    validator=all_of("broker", "controller", empty=False),
    importance=Importance.HIGH,
    differs="Both are needed: a node is a cluster of its own yet, and does not start as one of them alone.",
)

NODE_ID = required(
    "node.id",
    INT,
    "The number by which the whole cluster knows this node. It is written into "
    "`meta.properties` and must never change.",
    validator=at_least(0),
    importance=Importance.HIGH,
)

BROKER_ID = setting(
    "broker.id", INT, -1, "The older name of `node.id`. When both are set they must agree.", importance=Importance.HIGH
)

BROKER_RACK = optional(
    "broker.rack",
    STRING,
    "Where this broker stands (a rack, a zone, a machine). Replicas are spread over racks, "
    "and consumers may fetch from the replica nearest to them.",
)

BROKER_HEARTBEAT_INTERVAL_MS = setting(
    "broker.heartbeat.interval.ms", INT, 2 * SECOND_MS, "How often a broker tells the controller that it is alive."
)

BROKER_SESSION_TIMEOUT_MS = setting(
    "broker.session.timeout.ms",
    INT,
    9 * SECOND_MS,
    "A broker that has not been heard of for this long is fenced: it loses its leaderships "
    "until it returns. At least twice `broker.heartbeat.interval.ms`.",
)

START_AND_STOP = table(
    setting("initial.broker.registration.timeout.ms", INT, MINUTE_MS,
            "How long a starting broker tries to register with the controller before it gives up and exits.",
            harmless="The controller runs in this node, which waits for it."),
    setting("controlled.shutdown.enable", BOOLEAN, True,
            "Hand leaderships to other brokers before stopping, so that clients see no gap.",
            harmless="A node always stops in order, unless it is killed."),
    setting("server.max.startup.time.ms", LONG, LONG_MAX,
            "The longest a start may take before the node gives up.",
            validator=at_least(0), internal=True,
            harmless="A start takes as long as the recovery of the logs does, and says how far it is."),
)  # fmt: skip

DELETE_TOPIC_ENABLE = setting(
    "delete.topic.enable",
    BOOLEAN,
    True,
    "Whether topics may be deleted at all. When false, every DeleteTopics request is refused.",
    importance=Importance.HIGH,
)

AUTO_CREATE_TOPICS_ENABLE = setting(
    "auto.create.topics.enable",
    BOOLEAN,
    True,
    "Whether a Metadata request that names an unknown topic (and allows it) creates that topic.",
    importance=Importance.HIGH,
)

NUM_PARTITIONS = setting(
    "num.partitions", INT, 1, "Partitions of a topic whose creator did not say how many.", validator=at_least(1)
)

DEFAULT_REPLICATION_FACTOR = setting(
    "default.replication.factor", INT, 1, "Replicas of a topic whose creator did not say how many."
)

UNSTABLE_VERSIONS = table(
    setting("unstable.api.versions.enable", BOOLEAN, False,
            "Offer API versions that are still being designed. Only for testing."),
    setting("unstable.feature.versions.enable", BOOLEAN, False,
            "Offer feature levels that are still being designed. Only for testing."),
    importance=Importance.HIGH,
    internal=True,
    harmless="There are no unstable versions here to be turned on.",
)  # fmt: skip

PROVIDERS = table(
    setting("config.providers", LIST, (),
            "Names of the providers that fill in `${provider:path:key}` placeholders.",
            importance=Importance.LOW, scope=Scope.CLUSTER_WIDE),
    refused=unserved.NO_CONFIG_PROVIDERS,
)  # fmt: skip
