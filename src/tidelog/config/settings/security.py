"""Authorization and delegation tokens.

Who may do what, and tokens that stand in for a login.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import BOOLEAN, CLASS, LONG, PASSWORD, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import DAY_MS, HOUR_MS
from tidelog.config.validators import at_least

AUTHORIZER = table(
    setting("authorizer.class.name", STRING, "",
            "The authorizer. Empty: everybody may do everything.", importance=Importance.LOW),
    setting("principal.builder.class", CLASS, forms.DEFAULT_PRINCIPAL_BUILDER,
            "How a connection becomes a principal.", scope=Scope.PER_BROKER, per_listener=True),
    refused=unserved.NO_AUTHORIZER,
)  # fmt: skip

POLICIES = table(
    optional("create.topic.policy.class.name", CLASS, "A Java class that may refuse new topics."),
    optional("alter.config.policy.class.name", CLASS, "A Java class that may refuse changes of configuration."),
    importance=Importance.LOW,
    refused=unserved.NO_JAVA_POLICY,
)

DELEGATION_TOKENS = table(
    optional("delegation.token.secret.key", PASSWORD,
             "The secret from which delegation tokens are derived; the same on every node. Not set: no delegation "
             "tokens."),
    setting("delegation.token.max.lifetime.ms", LONG, 7 * DAY_MS,
            "A token cannot be renewed beyond this age.", validator=at_least(1)),
    setting("delegation.token.expiry.time.ms", LONG, DAY_MS,
            "A token ends after this time unless it is renewed.", validator=at_least(1)),
    setting("delegation.token.expiry.check.interval.ms", LONG, HOUR_MS,
            "How often to look for tokens that have ended.", validator=at_least(1), importance=Importance.LOW),
    refused=unserved.NO_TOKENS,
)  # fmt: skip

SUPER_USERS = setting(
    "super.users",
    STRING,
    "",
    "Principals that may do everything, as `User:name`, separated by semicolons.",
    validator=forms.SUPER_USERS,
    differs="Apache's authorizer reads it as a custom property, whose value DescribeConfigs hides because "
    "nobody knows its type; here it is a setting like any other.",
    refused=unserved.NO_AUTHORIZER,
)

ACLS = table(
    setting("allow.everyone.if.no.acl.found", BOOLEAN, False,
            "Whether a resource without any ACL is open to everybody (true) or closed to all but super users (false).",
            differs="Apache's authorizer reads it as a custom property, whose value DescribeConfigs hides because "
    "nobody knows its type; here it is a setting like any other."),
    harmless=unserved.OF_THE_AUTHORIZER,
)  # fmt: skip
