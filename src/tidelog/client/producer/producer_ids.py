"""Producer ids, asked for while the producer goes on: nothing is held up but the batches that need one."""

from tidelog.client.backoff import Backoff
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, error_code
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import RETRIABLE
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_TIMEOUT_MS = 0x7FFFFFFF  # a producer without transactions has none to time out
ASKED = "get a producer id"


class SharedProducerId:
    """The producer id that all lines of one producer share, and the next one when its epochs have run out."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._backoff = Backoff(client.world.entropy)
        self._outcome: ProducerIdAndEpoch | ClientError | None = None
        self._is_asking = False
        self._ask_at_ms = 0

    def get(self, now_ms: int, used_up: int) -> ProducerIdAndEpoch | ClientError | None:
        """Return the producer id and epoch; None until the broker has answered. `used_up` is a producer id that the
        caller cannot use any more. A refusal is returned once, and the next call asks again."""
        outcome = self._outcome
        if isinstance(outcome, ClientError):
            self._outcome = None
            return outcome
        if outcome is not None and outcome.producer_id != used_up:
            return outcome
        if not self._is_asking and now_ms >= self._ask_at_ms:
            self._ask()
        return None

    def _ask(self) -> None:
        self._is_asking = True
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=NO_TIMEOUT_MS)
        self._client.send(self._client.any_node(), request, self._answered)

    def _answered(self, outcome: InitProducerIdResponse | ClientError) -> None:
        self._is_asking = False
        if not isinstance(outcome, ClientError):
            if not outcome.error_code:
                self._outcome = ProducerIdAndEpoch(outcome.producer_id, outcome.producer_epoch)
                return
            outcome = ClientError(error_code(outcome.error_code), ASKED, self._client.name)
        if outcome.code in RETRIABLE:
            self._ask_at_ms = self._client.now_ms() + self._backoff.next_ms()
            self._client.refresh_soon()
        else:
            self._outcome = outcome
