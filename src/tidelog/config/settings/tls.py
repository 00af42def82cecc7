"""TLS.

Certificates, trust and protocol versions. Every one of them can be set for one listener.
"""

from tidelog.config import unserved
from tidelog.config.kinds import BOOLEAN, CLASS, LIST, PASSWORD, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.validators import entries, one_of

SSL_KEYSTORE_LOCATION = optional(
    "ssl.keystore.location",
    STRING,
    "The file with this node's private key and certificate.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_KEYSTORE_TYPE = setting(
    "ssl.keystore.type",
    STRING,
    "JKS",
    "The format of that file: JKS, PKCS12 or PEM.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_KEYSTORE_PASSWORD = optional(
    "ssl.keystore.password",
    PASSWORD,
    "The password of that file.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_KEY_PASSWORD = optional(
    "ssl.key.password",
    PASSWORD,
    "The password of the private key itself.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_KEYSTORE_KEY = optional(
    "ssl.keystore.key",
    PASSWORD,
    "The private key as PEM text, instead of a file.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_KEYSTORE_CERTIFICATE_CHAIN = optional(
    "ssl.keystore.certificate.chain",
    PASSWORD,
    "The certificate chain as PEM text, instead of a file.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_TRUSTSTORE_LOCATION = optional(
    "ssl.truststore.location",
    STRING,
    "The file with the certificates that are trusted.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_TRUSTSTORE_TYPE = setting(
    "ssl.truststore.type",
    STRING,
    "JKS",
    "The format of that file: JKS, PKCS12 or PEM.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_TRUSTSTORE_PASSWORD = optional(
    "ssl.truststore.password",
    PASSWORD,
    "The password of that file.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

SSL_TRUSTSTORE_CERTIFICATES = optional(
    "ssl.truststore.certificates",
    PASSWORD,
    "The trusted certificates as PEM text, instead of a file.",
    scope=Scope.PER_BROKER,
    per_listener=True,
    refused=unserved.NO_TLS,
)

HANDSHAKE = table(
    setting("ssl.client.auth", STRING, "none",
            "Whether a client must show a certificate (`required`), may (`requested`), or is not asked (`none`).",
            validator=one_of("required", "requested", "none"), scope=Scope.PER_BROKER),
    setting("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"),
            "The TLS versions that are accepted.", validator=entries(empty=True), scope=Scope.PER_BROKER),
    setting("ssl.protocol", STRING, "TLSv1.3", "The newest TLS version to use.", scope=Scope.PER_BROKER),
    setting("ssl.cipher.suites", LIST, (),
            "The cipher suites that are accepted. Empty: the library's own choice.",
            validator=entries(empty=True), scope=Scope.PER_BROKER),
    setting("ssl.endpoint.identification.algorithm", STRING, "https",
            "How a server's name is checked when this node connects: `https`, or empty for not at all.",
            importance=Importance.LOW, scope=Scope.PER_BROKER),
    setting("ssl.principal.mapping.rules", STRING, "DEFAULT",
            "Rules that turn a certificate's distinguished name into a principal's name.", importance=Importance.LOW),
    setting("ssl.allow.dn.changes", BOOLEAN, False,
            "A keystore replaced at run time may carry another distinguished name.", importance=Importance.LOW),
    setting("ssl.allow.san.changes", BOOLEAN, False,
            "A keystore replaced at run time may carry other alternative names.", importance=Importance.LOW),
    per_listener=True,
    refused=unserved.NO_TLS,
)  # fmt: skip

JAVA_CLASSES = table(
    optional("ssl.provider", STRING, "The Java security provider.", scope=Scope.PER_BROKER),
    setting("ssl.keymanager.algorithm", STRING, "SunX509", "The Java key manager.", scope=Scope.PER_BROKER),
    setting("ssl.trustmanager.algorithm", STRING, "PKIX", "The Java trust manager.", scope=Scope.PER_BROKER),
    optional("ssl.secure.random.implementation", STRING,
             "The Java source of randomness.", importance=Importance.LOW, scope=Scope.PER_BROKER),
    optional("ssl.engine.factory.class", CLASS,
             "A Java class that builds TLS engines.", importance=Importance.LOW, scope=Scope.PER_BROKER),
    optional("security.providers", STRING, "Java classes that add security providers.", importance=Importance.LOW),
    per_listener=True,
    refused=unserved.NO_TLS,
)  # fmt: skip
