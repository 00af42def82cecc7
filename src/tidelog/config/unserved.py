"""What Tidelog does not have, in words: why a setting is refused, with what to do instead, or why it is harmless.

Each text completes "`name`: ..." in an error and stands alone in the reference. Settings that lack the same thing
share a text, so that the day the thing is built is the day one text goes.
"""

from typing import Final

# Refused: whoever sets such a setting relies on something that would not happen.
NO_TLS: Final = (
    "TLS is not served yet, so nothing would be encrypted. Take the setting out; where encryption is needed, put a "
    "proxy that ends TLS (stunnel, HAProxy, Envoy) before a PLAINTEXT listener that only it can reach."
)
NO_SASL: Final = (
    "SASL is not served yet, so nobody would be asked to log in. Take the setting out, and let only hosts that you "
    "trust reach the PLAINTEXT listener."
)
NO_AUTHORIZER: Final = (
    "There is no authorizer yet, so everybody who connects may do everything. Take the setting out, and let only hosts "
    "that you trust reach the listeners."
)
NO_TOKENS: Final = (
    "Delegation tokens are not served yet. Take the setting out, with everything that logs in by a token."
)
NO_QUOTAS: Final = (
    "Quotas are not enforced yet, so no client would be slowed down. Take the setting out; `max.connections` and "
    "`max.connections.per.ip` are enforced."
)
NO_TIERED_STORAGE: Final = (
    "Tiered storage is not there yet, so segments stay on local disk. Take the setting out, and size `retention.bytes` "
    "for the local disk."
)
NO_JAVA_POLICY: Final = (
    "A Java class cannot be loaded, and ignoring it would let through what it forbids. Take the setting out if nothing "
    "relies on it."
)
NO_CONFIG_PROVIDERS: Final = (
    "Providers are Java classes, which cannot be loaded, and a placeholder would be taken for a password. Take the "
    "setting out, and write the values where their placeholders stand."
)
NO_JOINING: Final = (
    "A node cannot join a quorum yet: it is its own only controller. Set it to false, and format the node with "
    "`tidelog format --standalone`."
)
NO_CLIENT_TELEMETRY: Final = (
    "Clients cannot push their metrics here yet, so the subscription would get nothing. Leave it out; the broker's own "
    "metrics are at `metrics.listener`."
)
RESTART_ONLY: Final = "cannot be changed while the broker runs yet; set it in server.properties and restart"
NOT_FOR_ONE_LISTENER: Final = "is enforced for all listeners together, not for one; set {name} without the prefix"
NOT_PLAINTEXT: Final = (
    "listener {listener} is to speak {protocol}, but only PLAINTEXT is served yet, so it would open without "
    "encryption and without a login"
)
PLAINTEXT_INSTEAD: Final = (
    "PLAINTEXT listeners that only trusted hosts can reach, or a proxy that ends TLS before one that only it can reach"
)

# Harmless: nothing that anybody relies on is missing when such a setting is ignored.
OF_THE_AUTHORIZER: Final = "It tells an authorizer what to do, and a file that asks for an authorizer is refused."
OF_TIERED_STORAGE: Final = "It tunes tiered storage, and whatever turns that on is refused."
OF_SHARE_GROUPS: Final = "Share groups are not served, and a share consumer is told so."
OF_STREAMS_GROUPS: Final = "Streams groups are not served. Streams applications with the classic protocol are."
OF_REPLICATION: Final = "A node is a cluster of its own yet, so nothing is replicated to or from another."
OF_A_QUORUM: Final = "A node is its own only voter yet, so there is no other to ask or to wait for."
OF_CLIENT_TELEMETRY: Final = "Clients cannot push metrics here yet, and are told so."
OF_JAVA_METRICS: Final = "Metrics are told at `metrics.listener`, as Prometheus reads them."
OF_THREADS: Final = "One event loop does this work."
OF_A_BUFFER: Final = "A buffer's size inside Apache's broker; there is no such buffer here."
