"""SASL.

Logging in with a password, with SCRAM or with a delegation token.
"""

from tidelog.config import unserved
from tidelog.config.kinds import CLASS, INT, LIST, LONG, PASSWORD, STRING
from tidelog.config.setting import Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import KIB
from tidelog.config.validators import entries

MECHANISMS = table(
    setting("sasl.enabled.mechanisms", LIST, ("GSSAPI",),
            "The mechanisms that clients may log in with.", validator=entries(empty=True)),
    setting("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI",
            "The mechanism by which brokers log in to each other. Must be among `sasl.enabled.mechanisms` of that "
            "listener."),
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_SASL,
)  # fmt: skip

SASL_JAAS_CONFIG = optional(
    "sasl.jaas.config",
    PASSWORD,
    "The login of one mechanism, in JAAS syntax: user name and password, and for PLAIN the users.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_SASL,
)

RECEIVE_SIZE = table(
    setting("sasl.server.max.receive.size", INT, 512 * KIB,
            "The largest message that a client may send while it logs in."),
    refused=unserved.NO_SASL,
)  # fmt: skip

CONNECTIONS_MAX_REAUTH_MS = setting(
    "connections.max.reauth.ms",
    LONG,
    0,
    "A connection that has not logged in again within this time is closed. 0: never.",
    per_listener=True,
    refused=unserved.NO_SASL,
)

SASL_SERVER_CALLBACK_HANDLER_CLASS = optional(
    "sasl.server.callback.handler.class",
    CLASS,
    "A Java class that checks credentials.",
    per_listener=True,
    refused=unserved.NO_SASL,
)

CLIENT_CALLBACK = table(
    optional("sasl.client.callback.handler.class", CLASS, "A Java class that supplies credentials.", per_listener=True),
    refused=unserved.NO_SASL,
)

SASL_LOGIN_CLASS = optional(
    "sasl.login.class",
    CLASS,
    "A Java class that logs in.",
    per_listener=True,
    refused=unserved.NO_SASL,
)

SASL_LOGIN_CALLBACK_HANDLER_CLASS = optional(
    "sasl.login.callback.handler.class",
    CLASS,
    "A Java class that supplies credentials to the login.",
    per_listener=True,
    refused=unserved.NO_SASL,
)
