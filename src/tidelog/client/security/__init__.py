"""TLS and SASL of the client, by Kafka's names of the settings.

    client = Client("broker:9093", security=security_of({"security.protocol": "SASL_SSL", ...}))

The settings are plain values that may be pickled and sent to another machine; files are read where a client is made.
Everything but reading those is without I/O: the exchange with a broker is the same on the client's reactor, on the
blocking link that fetches, and in the simulator. No secret is ever part of a `repr`, a log line or an error.

Import from the modules: `settings` (security_of), `security` (Security), `errors`.
"""
