"""InitProducerId: a number for an idempotent producer, of the block that the controller gave this broker.

An idempotent producer gets a new id each time and epoch 0. Transactions have a coordinator, which this release does
not serve yet: a transactional id is refused.
"""

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.server.handling import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

NO_PRODUCER_EPOCH = -1


def handle(broker: "Broker", context: RequestContext, body: InitProducerIdRequest) -> InitProducerIdResponse | None:
    is_half = (body.producer_id == NO_PRODUCER_ID) != (body.producer_epoch == NO_PRODUCER_EPOCH)
    if body.transactional_id is not None or is_half:
        return refuse(body, ErrorCode.INVALID_REQUEST, "")

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
    return None


def refuse(_body: InitProducerIdRequest, code: ErrorCode, _message: str | None) -> InitProducerIdResponse:
    return InitProducerIdResponse(throttle_time_ms=0, error_code=code, producer_epoch=NO_PRODUCER_EPOCH)


INIT_PRODUCER_ID = Handler(ApiKey.INIT_PRODUCER_ID, handle, refuse)
