"""SASL.

Logging in with a password, with SCRAM or with a delegation token.
"""

from tidelog.config import forms
from tidelog.config.kinds import CLASS, INT, LIST, LONG, PASSWORD, STRING
from tidelog.config.setting import Scope, optional, setting
from tidelog.config.units import KIB
from tidelog.config.validators import entries

SASL_ENABLED_MECHANISMS = setting(
    "sasl.enabled.mechanisms",
    LIST,
    ("GSSAPI",),
    "The mechanisms that clients may log in with.",
    validator=entries(empty=True),
    scope=Scope.PER_BROKER,
    differs=(
        "PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are served. GSSAPI (Kafka's default) and "
        "OAUTHBEARER are not: they are accepted in a file, with a warning, and never offered to "
        "a client."
    ),
    per_listener=True,
)

SASL_MECHANISM_INTER_BROKER_PROTOCOL = setting(
    "sasl.mechanism.inter.broker.protocol",
    STRING,
    "GSSAPI",
    "The mechanism by which brokers log in to each other. Must be among `sasl.enabled.mechanisms` of that listener.",
    scope=Scope.PER_BROKER,
    per_listener=True,
)

SASL_JAAS_CONFIG = optional(
    "sasl.jaas.config",
    PASSWORD,
    "The login of one mechanism, in JAAS syntax: user name and password, and for PLAIN the users.",
    scope=Scope.PER_BROKER,
    per_listener=True,
)

SASL_SERVER_MAX_RECEIVE_SIZE = setting(
    "sasl.server.max.receive.size", INT, 512 * KIB, "The largest message that a client may send while it logs in."
)

CONNECTIONS_MAX_REAUTH_MS = setting(
    "connections.max.reauth.ms",
    LONG,
    0,
    "A connection that has not logged in again within this time is closed. 0: never.",
    per_listener=True,
)

SASL_SERVER_CALLBACK_HANDLER_CLASS = optional(
    "sasl.server.callback.handler.class",
    CLASS,
    "A Java class that checks credentials.",
    validator=forms.NO_JAVA_CLASS,
    differs="Refused: ignoring it would let in whom it keeps out.",
    per_listener=True,
)

SASL_CLIENT_CALLBACK_HANDLER_CLASS = optional(
    "sasl.client.callback.handler.class",
    CLASS,
    "A Java class that supplies credentials.",
    validator=forms.NO_JAVA_CLASS,
    differs="Refused: this node would log in as somebody else, or not at all.",
    per_listener=True,
)

SASL_LOGIN_CLASS = optional(
    "sasl.login.class",
    CLASS,
    "A Java class that logs in.",
    validator=forms.NO_JAVA_CLASS,
    differs="Refused: this node would log in as somebody else, or not at all.",
    per_listener=True,
)

SASL_LOGIN_CALLBACK_HANDLER_CLASS = optional(
    "sasl.login.callback.handler.class",
    CLASS,
    "A Java class that supplies credentials to the login.",
    validator=forms.NO_JAVA_CLASS,
    differs="Refused: this node would log in as somebody else, or not at all.",
    per_listener=True,
)
