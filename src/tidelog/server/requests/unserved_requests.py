"""The answer to a request that this broker does not serve, where an answer can be given.

Kafka's brokers close the connection. A client that does not look at ApiVersions connects again then, and again, and its
user never learns why. So wherever the layout of the response is known and has a place for one error for all of it, the
client is told UNSUPPORTED_VERSION instead.
"""

from dataclasses import MISSING
from typing import Any, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.protocol.schema import FieldSchema, Wire, schema_of
from tidelog.protocol.server_connection import Request, UnsupportedRequest, encode_response

_ERROR_CODE: Final = "error_code"
_ZEROS: Final[dict[Wire | None, Any]] = {Wire.STRING: "", Wire.BYTES: b"", Wire.BOOL: False, Wire.UUID: bytes(16)}


def refuse_unserved(request: UnsupportedRequest) -> list[Any] | None:
    """Return the parts of the whole frame; None where the response has no place for an error, or the version is not
    known."""
    return refusal_of(request, ErrorCode.UNSUPPORTED_VERSION)


def refusal_of(request: Request | UnsupportedRequest, code: ErrorCode) -> list[Any] | None:
    """Return an error for all of a request of which only the header was read; None where its response has no place for
    it."""
    if request.api_key not in RESPONSES:
        return None
    cls = RESPONSES[request.api_key]
    schema = schema_of(cls)
    has_place = any(each.name == _ERROR_CODE and request.api_version in each.versions for each in schema.fields)
    if request.api_version not in schema.versions or not has_place:
        return None
    values = {each.name: _zero(each) for each in schema.fields if each.default is MISSING}
    values[_ERROR_CODE] = code
    return encode_response(request.correlation_id, cls(**values), request.api_version)


def _zero(field: FieldSchema) -> Any:
    return [] if field.is_array else _ZEROS.get(field.wire, 0)
