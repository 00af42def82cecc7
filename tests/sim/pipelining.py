"""An idempotent producer with several requests in flight, as every client's is: batches that are not answered are sent
again, in their order, on the next connection.

A restarted broker knows the last batch of each producer and those behind its last snapshot (that is Kafka's format), so
it may take a batch that was sent to its predecessor for one out of order, and only then.
"""

from dataclasses import dataclass
from typing import Any

from tests.sim.node_clients import PATIENCE_MS, IdempotentProducer, Scene, batch, produce_request

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.records.builder import BatchOptions

IN_FLIGHT_MAX = 5


@dataclass
class Unanswered:
    values: list[bytes]
    sequence: int
    life: int  # the node's life in which it was sent first


class PipeliningProducer(IdempotentProducer):
    def __init__(self, scene: Scene, number: int) -> None:
        super().__init__(scene, number)
        self._unanswered: list[Unanswered] = []
        self._sent = 0  # how many of those were sent on this connection
        self._ids = 0  # producer ids it has had: batches of different ids have no order

    def step(self) -> None:
        client = self._client
        is_away = client is None or client.is_closed
        if is_away or self._producer_id < 0 or self._target not in self.scene.topics():
            self._sent = 0
            if not is_away and self._producer_id >= 0 and client is not None:
                client.close()  # the topic is gone: its answers are of no use
                self._client = None
                self._begin()  # at once: if its deletion failed, the topic is back before the next step
            super().step()
        else:
            self._listen_and_send()

    def _begin(self) -> None:
        super()._begin()
        self._unanswered = []
        self._ids += 1

    def _listen_and_send(self) -> None:
        assert self._client is not None
        assert self._target is not None
        now_ms, answer = self.scene.world.clock.monotonic_ms(), self._client.poll()
        if answer is not None:
            self._asked_ms = now_ms
            self.heard += 1
            self._hear(answer)
        elif self._sent and now_ms > self._asked_ms + PATIENCE_MS:
            self._give_up()
        elif self._sent < IN_FLIGHT_MAX and self.scene.random.random() < 0.5:
            self._asked_ms = now_ms
            self._send_next(*self._target)

    def _hear(self, answer: Any) -> None:
        assert self._target is not None
        outcome = answer.responses[0].partition_responses[0]
        assert outcome.error_code != ErrorCode.INVALID_PRODUCER_EPOCH
        if outcome.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            assert self._unanswered[0].life < self.scene.world.lives, outcome.error_message
            self._begin()
        elif outcome.error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
            self._begin()  # as clients do, which go on with another epoch
        if outcome.error_code != ErrorCode.NONE:
            self._give_up()
            return
        first = self._unanswered.pop(0)
        self._sent -= 1
        self.scene.ledger.of(self._target[1], 0).acknowledge(outcome.base_offset, first.values)

    def _give_up(self) -> None:
        """Close the connection and send everything from the first batch again, since the batches behind a failed one
        fail too."""
        assert self._client is not None
        self._client.close()
        self._client = None
        self._sent = 0

    def _send_next(self, topic: str, topic_id: Uuid) -> None:
        assert self._client is not None
        if self._sent == len(self._unanswered):
            name, count = b"%d.%d" % (self.number, self._ids), self.scene.random.randint(1, 3)
            values = [b"%s:%d" % (name, self._count + n) for n in range(count)]
            self._unanswered.append(Unanswered(values, self._sequence, self.scene.world.lives))
            self._count += len(values)
            self._sequence += len(values)
            self.scene.ledger.of(topic_id, 0).sent.update(dict.fromkeys(values, self.number))
        next_one = self._unanswered[self._sent]
        options = BatchOptions(producer_id=self._producer_id, producer_epoch=0, base_sequence=next_one.sequence)
        records = batch(next_one.values, options, self.scene.key())
        self._client.send(produce_request(topic, topic_id, records, -1), 13)
        self._sent += 1
