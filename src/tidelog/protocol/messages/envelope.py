"""Envelope: a broker forwards a client's request to the controller, with the principal it authenticated."""

from tidelog.protocol.schema import byte_string, field, int16, request, response


@request(api_key=58, versions="0", flexible="0+")
class EnvelopeRequest:
    request_data: byte_string
    request_principal: byte_string | None = field(nullable="0+")
    client_host_address: byte_string


@response(api_key=58, versions="0", flexible="0+")
class EnvelopeResponse:
    response_data: byte_string | None = field(nullable="0+", default=None)
    error_code: int16
