"""DeleteTopics: delete topics by name, and from 6 by id (which replaces the list of names by one of structs)."""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uuid


@struct
class DeleteTopicState:
    name: string | None = field(nullable="0+", default=None)
    topic_id: uuid


@request(api_key=20, versions="1-6", flexible="4+")
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = field("6+", default_factory=list)
    topic_names: list[string] = field("0-5", default_factory=list, ignorable=True)
    timeout_ms: int32


@struct
class DeletableTopicResult:
    name: string | None = field(nullable="6+")
    topic_id: uuid = field("6+", default=ZERO_UUID, ignorable=True)
    error_code: int16
    error_message: string | None = field("5+", nullable="5+", default=None, ignorable=True)


@response(api_key=20, versions="1-6", flexible="4+")
class DeleteTopicsResponse:
    throttle_time_ms: int32
    responses: list[DeletableTopicResult]
