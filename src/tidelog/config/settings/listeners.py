"""Listeners and sockets.

Where the node listens, what it tells clients to connect to, and the limits of a connection.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import INT, LIST, LONG, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import INT_MAX, KIB, MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import NON_EMPTY, at_least, entries, one_of

LISTENERS = setting(
    "listeners",
    LIST,
    ("PLAINTEXT://:9092",),
    "Where this node listens, as `NAME://host:port`. An empty host is every interface. "
    "Names are free as long as `listener.security.protocol.map` maps them.",
    validator=forms.LISTENERS,
    importance=Importance.HIGH,
    scope=Scope.PER_BROKER,
    restart_only=True,
    differs="A change takes a restart.",
)

ADVERTISED_LISTENERS = optional(
    "advertised.listeners",
    LIST,
    "The addresses that clients are told to use, as `NAME://host:port`. Never `0.0.0.0`, which no client can reach.",
    validator=forms.LISTENERS,
    importance=Importance.HIGH,
    differs=(
        "When it is not set, a client is told the address by which it reached us (the local end "
        "of its own connection), not the host name of the machine. So a node behind a port map, "
        "in a container or on a laptop works without it. Other brokers and the controller still "
        "need an address that they can reach: with `listeners` on every interface in a cluster "
        "of several machines, set it."
    ),
)

LISTENER_SECURITY_PROTOCOL_MAP = setting(
    "listener.security.protocol.map",
    STRING,
    "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
    "Which protocol each listener speaks, as `NAME:PROTOCOL`; one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL.",
    validator=forms.PROTOCOL_MAP,
    importance=Importance.LOW,
    scope=Scope.PER_BROKER,
    restart_only=True,
    differs=(
        "Listed in a fixed order; Apache's default prints the same four pairs in the order of a hash table. A change "
        "takes a restart."
    ),
)

INTER_BROKER_LISTENER_NAME = optional(
    "inter.broker.listener.name",
    STRING,
    "The listener by which brokers talk to each other. Not together with `security.inter.broker.protocol`.",
    validator=NON_EMPTY,
)

SECURITY_INTER_BROKER_PROTOCOL = setting(
    "security.inter.broker.protocol",
    STRING,
    "PLAINTEXT",
    "The protocol that brokers use among themselves when `inter.broker.listener.name` is "
    "not set; then a listener of the same name is used.",
    validator=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
)

EARLY_START_LISTENERS = optional(
    "early.start.listeners",
    LIST,
    "Listeners that accept connections before the authorizer is ready. By default, those of the controller.",
    validator=entries(empty=True),
    importance=Importance.HIGH,
    harmless="All listeners open together; there is no authorizer whose start some of them would have to precede.",
)

SOCKET_BUFFERS = table(
    setting("socket.send.buffer.bytes", INT, 100 * KIB,
            "The send buffer (SO_SNDBUF) of a server socket. -1: what the operating system chooses."),
    setting("socket.receive.buffer.bytes", INT, 100 * KIB,
            "The receive buffer (SO_RCVBUF) of a server socket. -1: what the operating system chooses."),
    importance=Importance.HIGH,
    harmless="The kernel sizes the buffers of each connection by itself.",
)  # fmt: skip

SOCKET_REQUEST_MAX_BYTES = setting(
    "socket.request.max.bytes",
    INT,
    100 * MIB,
    "The largest request that a connection accepts; a longer one closes the connection before any of it is stored.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

CONNECTION_SETUP = table(
    setting("socket.listen.backlog.size", INT, 50,
            "Connections that may wait to be accepted (the backlog of `listen`). The operating system's own limit "
            "applies too.",
            validator=at_least(1),
            harmless="1,024 connections may wait to be accepted, or as many as the kernel allows "
            "(`net.core.somaxconn`)."),
    setting("socket.connection.setup.timeout.ms", LONG, 10 * SECOND_MS,
            "How long a new connection to another node may take to be established, at first.",
            harmless=unserved.OF_REPLICATION),
    setting("socket.connection.setup.timeout.max.ms", LONG, 30 * SECOND_MS,
            "That time grows with every failure, up to this.", harmless=unserved.OF_REPLICATION),
)  # fmt: skip

CONNECTIONS_MAX_IDLE_MS = setting(
    "connections.max.idle.ms",
    LONG,
    10 * MINUTE_MS,
    "Close a connection on which nothing has happened for this long. Negative: never.",
)

CONNECTION_FAILED_AUTHENTICATION_DELAY_MS = setting(
    "connection.failed.authentication.delay.ms",
    INT,
    100,
    "Hold the answer to a failed login for this long, against guessing. Must be below `connections.max.idle.ms`.",
    validator=at_least(0),
    importance=Importance.LOW,
    harmless="Nobody can log in, and a file that asks for a login is refused.",
)

MAX_CONNECTIONS = setting(
    "max.connections",
    INT,
    INT_MAX,
    "Connections that a broker accepts in all, or on one listener with the listener's "
    "prefix. Connections of the inter-broker listener push out the longest idle of the "
    "others.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
    per_listener=True,
)

MAX_CONNECTIONS_PER_IP = setting(
    "max.connections.per.ip",
    INT,
    INT_MAX,
    "Connections accepted from one address. 0 is allowed only with overrides.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

MAX_CONNECTIONS_PER_IP_OVERRIDES = setting(
    "max.connections.per.ip.overrides",
    STRING,
    "",
    "Exceptions to that limit, as `host:count` separated by commas.",
    validator=forms.IP_OVERRIDES,
    scope=Scope.CLUSTER_WIDE,
)

MAX_CONNECTION_CREATION_RATE = setting(
    "max.connection.creation.rate",
    INT,
    INT_MAX,
    "New connections a second, in all, or on one listener with the listener's prefix.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
    per_listener=True,
    refused="The rate is not limited yet. Take the setting out; `max.connections` and `max.connections.per.ip` are "
    "enforced.",
)

REQUEST_QUEUE = table(
    setting("queued.max.requests", INT, 500,
            "Requests read but not yet handled; beyond it, the node stops reading from sockets.",
            validator=at_least(1), importance=Importance.HIGH),
    harmless="Requests are not queued between threads; `queued.max.request.bytes` bounds their memory.",
)  # fmt: skip

QUEUED_MAX_REQUEST_BYTES = setting(
    "queued.max.request.bytes",
    LONG,
    -1,
    "Bytes of requests read but not yet handled; beyond it, the node stops reading from "
    "sockets. -1: no limit. At least `socket.request.max.bytes` when set.",
)

REQUEST_TIMEOUT_MS = setting(
    "request.timeout.ms",
    INT,
    30 * SECOND_MS,
    "How long a request to another node may take in all.",
    importance=Importance.HIGH,
)
