"""DeleteShareGroupOffsets: forget the start offsets of a share group for some topics."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uuid


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: string


@request(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest:
    group_id: string
    topics: list[DeleteShareGroupOffsetsRequestTopic]


@struct
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: string
    topic_id: uuid
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@response(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic]
