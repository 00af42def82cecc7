"""What OpenSSL says when two sides do not come to terms, as something to act on: which setting, on which side.

None of it passes by itself. The code is INVALID_CONFIG because Kafka has none for TLS, and a setting is what it takes.
"""

import ssl
from typing import Final

from tidelog.client.security.errors import SecurityFailure
from tidelog.model.errors import ErrorCode

_WRONG_HOST: Final = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_EXPIRED: Final = (9, 10)  # not yet valid, expired
_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
)
_WANTS_CERTIFICATE: Final = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE")
_REFUSES_CERTIFICATE: Final = ("UNKNOWN_CA", "CERTIFICATE_UNKNOWN", "CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED")


def failure_of(error: ssl.SSLError, host: str, *, shows_certificate: bool) -> SecurityFailure:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _failure(*_untrusted(error, host))
    reason = error.reason or str(error)
    if reason in _NOT_TLS:
        step = "set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use the address of a listener with TLS"
        return _failure("what answers there speaks no TLS", step)
    alert = reason.partition("ALERT_")[2]
    if alert in _WANTS_CERTIFICATE and not shows_certificate:
        step = "set ssl.keystore.location to a certificate and key that the brokers trust"
        return _failure("the broker asks for a certificate of ours", step)
    if alert in (*_WANTS_CERTIFICATE, *_REFUSES_CERTIFICATE) and shows_certificate:
        step = "see ssl.keystore.location: the brokers must trust who signed it, and it must not have expired"
        return _failure(f"the broker does not take our certificate ({_words(alert)})", step)
    step = "see ssl.enabled.protocols, and the broker's log"
    return _failure(f"the TLS handshake failed ({_words(reason)})", step)


def _untrusted(error: ssl.SSLCertVerificationError, host: str) -> tuple[str, str]:
    if error.verify_code in _WRONG_HOST:
        step = "connect by a name that is in it, or set ssl.endpoint.identification.algorithm to empty for no check"
        return f"the broker's certificate is not for {host}", step
    if error.verify_code in _EXPIRED:
        return "the broker's certificate, or that of who signed it, has expired or is not valid yet", "renew it"
    step = "set ssl.truststore.location to a PEM file with the authority that signed it"
    return f"the broker's certificate is not to be trusted ({error.verify_message})", step


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")


def _failure(message: str, step: str) -> SecurityFailure:
    return SecurityFailure(ErrorCode.INVALID_CONFIG, message, step)
