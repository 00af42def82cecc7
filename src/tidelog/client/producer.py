"""API skeleton, being filled in."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.record import Acks, Delivered, Headers
from tidelog.records.compression import CompressionType

# Told of every batch: what was acknowledged, or why not. Runs inside `send`, `poll` or `flush`.
OnDelivery = Callable[[Delivered | ClientError], None]


class Producer:
    def __init__(
        self,
        client: Client,
        *,
        acks: Acks = -1,
        idempotent: bool | None = None,  # None: with acks=-1
        compression: CompressionType = CompressionType.NONE,
        compression_level: int | None = None,
        linger_ms: int = 5,
        batch_bytes: int = 128 * 1024,
        buffer_bytes: int = 32 << 20,  # send() waits when so much is not acknowledged
        delivery_timeout_ms: int = 120_000,
    ) -> None: ...

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers = (),
        on_delivery: Callable[[int | ClientError], None] | None = None,  # this record's offset, or why not
    ) -> None:
        """Hand over a record. Waits only for room in the buffer, and for metadata of a topic not seen before."""

    def poll(self, timeout_ms: int = 0) -> None:
        """Move what is due: batches whose linger has passed, responses, retries. A caller that pauses between sends
        calls it (an interactive `produce`)."""

    def flush(self, timeout_ms: int | None = None) -> None:
        """Until everything is acknowledged. DeliveryFailed with all that failed since the last flush."""

    def produce_arrow(self, topic: str, table: Any, *, partition: int | None = None) -> None:
        """Rows of a pyarrow Table or RecordBatch: columns value, and where they are there key, timestamp, headers,
        partition."""

    @property
    def unacknowledged(self) -> int:
        """Records that wait for their fate."""
        return 0

    @property
    def delivered(self) -> int:
        """Records acknowledged so far."""
        return 0

    def close(self) -> None:
        """Flush, and give up what does not go."""

    def __enter__(self) -> "Producer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
