"""A request with many elements, refused as a whole: every element gets the same error, a slice at a time.

`Handler.refuse` goes through all elements of a request. It is asked about some of them at a time, and its responses are
put together again. Where a response has one entry for all elements of a name, in however many places they stand, the
request is not cut.
"""

import copy
from typing import Any, Final

from tidelog.model.errors import ApiError
from tidelog.protocol.api import ApiKey
from tidelog.protocol.schema import schema_of
from tidelog.server.requests.handler import Handler, Steps

SLICE: Final = 256

_GATHERED_BY_NAME: Final = frozenset({ApiKey.PRODUCE, ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.WRITE_TXN_MARKERS})


def refuse_in_slices(handler: Handler, body: Any, error: ApiError) -> Steps[Any]:
    """Return the response, or None where the client expects none."""
    arrays = [] if handler.api_key in _GATHERED_BY_NAME else _long_arrays(body)
    if len(arrays) != 1:
        return handler.refuse(body, error.code, error.message)
    name, elements = arrays[0], getattr(body, arrays[0])
    merged: Any = None
    for first in range(0, len(elements), SLICE):
        part = copy.copy(body)
        setattr(part, name, elements[first : first + SLICE])
        response = handler.refuse(part, error.code, error.message)
        merged = response if merged is None else _joined(merged, response)
        yield
    return merged


def _long_arrays(body: Any) -> list[str]:
    names = (field.name for field in schema_of(type(body)).fields if field.is_array)
    return [name for name in names if len(getattr(body, name) or ()) > SLICE]


def _joined(merged: Any, response: Any) -> Any:
    for field in schema_of(type(merged)).fields:
        if field.is_array:
            getattr(merged, field.name).extend(getattr(response, field.name))
    return merged
