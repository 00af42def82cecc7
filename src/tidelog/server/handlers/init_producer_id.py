"""InitProducerId: a number for a producer, by which partitions tell its batches from a repetition.

An idempotent producer gets a new id each time, and epoch 0; also one that names the id it has: to begin anew with
sequence 0 is all it wants. A transactional id has a coordinator, who gives its producers the same id with ever higher
epochs, and by that fences the earlier ones.

Ids come in blocks from the controller. Whoever asks before the first block is there waits for it, the transactional
ones too: their coordinator can not.
"""

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.server.coordination.asking import ask_transaction
from tidelog.server.handlers.transactions import understood
from tidelog.server.requests.handler import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

NO_PRODUCER_EPOCH = -1
_FIRST_WITH_FENCED = 4


def handle(broker: "Broker", context: RequestContext, body: InitProducerIdRequest) -> InitProducerIdResponse | None:
    is_half = (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_PRODUCER_EPOCH)
    if is_half:
        return refuse(body, ErrorCode.INVALID_REQUEST, "")
    if body.transactional_id is None:
        _give_next(broker, context, body)
    else:
        _ask_coordinator(broker, context, body, body.transactional_id)
    return None


def _give_next(broker: "Broker", context: RequestContext, body: InitProducerIdRequest) -> None:
    def answer(producer_id: int | ErrorCode) -> None:
        if isinstance(producer_id, ErrorCode):
            context.respond(refuse(body, producer_id, ""))
        else:
            context.respond(
                InitProducerIdResponse(
                    throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0
                )
            )

    broker.producer_ids.next(answer)


def _ask_coordinator(
    broker: "Broker", context: RequestContext, body: InitProducerIdRequest, transactional_id: str
) -> None:
    def answer(response: InitProducerIdResponse) -> None:
        response.error_code = understood(response.error_code, context.api_version, _FIRST_WITH_FENCED)
        context.respond(response)

    def there_are_some(code: ErrorCode) -> None:
        if code:
            context.respond(refuse(body, code, ""))
        else:
            ask_transaction(broker, context, transactional_id, body, refuse, answer)

    broker.producer_ids.when_some(there_are_some)


def refuse(_body: InitProducerIdRequest, code: ErrorCode, _message: str | None) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=code, producer_epoch=NO_PRODUCER_EPOCH)


INIT_PRODUCER_ID = Handler(ApiKey.INIT_PRODUCER_ID, handle, refuse)
