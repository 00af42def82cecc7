"""Kerberos and OAuth.

Mechanisms that are not served.
"""

from tidelog.config import unserved
from tidelog.config.kinds import BOOLEAN, CLASS, DOUBLE, INT, LIST, LONG, PASSWORD, SHORT, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import HOUR_MS, SECOND_MS
from tidelog.config.validators import between, entries, one_of_ignoring_case

KERBEROS = table(
    optional("sasl.kerberos.service.name", STRING, "The Kerberos service name of brokers."),
    setting("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", "The `kinit` program."),
    setting("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, "When to renew a ticket, as a share of its life."),
    setting("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, "The random share added to that time."),
    setting("sasl.kerberos.min.time.before.relogin", LONG, 60_000, "The least time between two logins."),
    setting("sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",),
            "Rules that turn a Kerberos principal into a name.", validator=entries(empty=True)),
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_SASL,
)  # fmt: skip

TOKEN_REFRESH = table(
    setting("sasl.login.refresh.window.factor", DOUBLE, 0.8, "When to refresh a token, as a share of its life."),
    setting("sasl.login.refresh.window.jitter", DOUBLE, 0.05, "The random share added to that time."),
    setting("sasl.login.refresh.min.period.seconds", SHORT, 60, "The least time between two refreshes."),
    setting("sasl.login.refresh.buffer.seconds", SHORT, 300, "How long before its end a token is refreshed."),
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_SASL,
)

TOKEN_SERVER = table(
    optional("sasl.login.connect.timeout.ms", INT, "How long to wait for a connection to the token server."),
    optional("sasl.login.read.timeout.ms", INT, "How long to wait for the token server's answer."),
    setting("sasl.login.retry.backoff.ms", LONG, 100, "The pause before the token server is asked again, at first."),
    setting("sasl.login.retry.backoff.max.ms", LONG, 10 * SECOND_MS, "That pause grows up to this."),
    importance=Importance.LOW,
    refused=unserved.NO_SASL,
)

OAUTHBEARER = table(
    optional("sasl.oauthbearer.jwks.endpoint.url", STRING, "Where the keys that sign tokens are found."),
    setting("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, HOUR_MS,
            "How often those keys are read again.", importance=Importance.LOW),
    setting("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, 100,
            "The pause before they are read again after a failure, at first.", importance=Importance.LOW),
    setting("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, 10 * SECOND_MS,
            "That pause grows up to this.", importance=Importance.LOW),
    optional("sasl.oauthbearer.token.endpoint.url", STRING, "Where tokens are issued."),
    optional("sasl.oauthbearer.scope", STRING, "The scope to ask for."),
    setting("sasl.oauthbearer.scope.claim.name", STRING, "scope",
            "The claim that carries the scope.", importance=Importance.LOW),
    setting("sasl.oauthbearer.sub.claim.name", STRING, "sub",
            "The claim that carries the subject.", importance=Importance.LOW),
    setting("sasl.oauthbearer.expected.audience", LIST, (),
            "Audiences that a token may be for.", validator=entries(empty=True), importance=Importance.HIGH),
    optional("sasl.oauthbearer.expected.issuer", STRING,
             "The issuer that a token must name.", importance=Importance.HIGH),
    setting("sasl.oauthbearer.clock.skew.seconds", INT, 30, "How far clocks may differ.", importance=Importance.LOW),
    optional("sasl.oauthbearer.client.credentials.client.id", STRING, "The client id for the token server."),
    optional("sasl.oauthbearer.client.credentials.client.secret", PASSWORD, "The client secret for the token server."),
    setting("sasl.oauthbearer.jwt.retriever.class", CLASS,
            "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", "A Java class that fetches tokens."),
    setting("sasl.oauthbearer.jwt.validator.class", CLASS,
            "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", "A Java class that checks tokens."),
    refused=unserved.NO_SASL,
)  # fmt: skip

OAUTHBEARER_ASSERTIONS = table(
    setting("sasl.oauthbearer.assertion.algorithm", STRING, "RS256",
            "How an assertion is signed.", validator=one_of_ignoring_case("ES256", "RS256")),
    optional("sasl.oauthbearer.assertion.file", STRING, "A file with a ready assertion."),
    optional("sasl.oauthbearer.assertion.template.file", STRING, "A file with a template of assertions."),
    optional("sasl.oauthbearer.assertion.private.key.file", STRING, "The key that signs assertions."),
    optional("sasl.oauthbearer.assertion.private.key.passphrase", PASSWORD, "The password of that key."),
    optional("sasl.oauthbearer.assertion.claim.aud", STRING, "The audience claim of an assertion."),
    optional("sasl.oauthbearer.assertion.claim.iss", STRING, "The issuer claim of an assertion."),
    optional("sasl.oauthbearer.assertion.claim.sub", STRING, "The subject claim of an assertion."),
    setting("sasl.oauthbearer.assertion.claim.exp.seconds", INT, 300,
            "How long an assertion is valid.", validator=between(0, 86_400), importance=Importance.LOW),
    setting("sasl.oauthbearer.assertion.claim.nbf.seconds", INT, 60,
            "How long before now an assertion's validity begins.",
            validator=between(0, 3600), importance=Importance.LOW),
    setting("sasl.oauthbearer.assertion.claim.jti.include", BOOLEAN, False,
            "Whether an assertion carries an id of its own."),
    refused=unserved.NO_SASL,
)  # fmt: skip
