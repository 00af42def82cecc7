"""The topics that are read: records of 200 bytes, and realistic JSON with keys; each in one partition and in two.

For whoever compresses them it matters what the 200 bytes are: nothing makes random ones smaller. So there are those of
the usual load tools as well, which send the same printable bytes again and again.
"""

import json
import random
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer

PLAIN, LOAD_TOOL, JSON = "200 random bytes", "load-tool records of 200 bytes", "JSON with keys"
SEED: Final = 7
DISTINCT: Final = 20_000  # rows, repeated: making millions of them would take longer than reading them
BATCH_BYTES: Final = 256 << 10
FIRST_MS: Final = 1_760_000_000_000
AGENTS: Final = ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (iPhone)", "curl/8.5.0")


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    kind: str
    partitions: int
    rows: int


def fill(bootstrap: str, topic: Topic) -> None:
    rows = {PLAIN: _plain_rows, LOAD_TOOL: _load_tool_rows, JSON: _json_rows}[topic.kind]()
    with Client(bootstrap) as client:
        # Their times are those of a fixed day: retention would take them away while they are read.
        Admin(client).create_topic(NewTopic(topic.name, topic.partitions, configs={"retention.ms": "-1"}))
        with Producer(client, batch_bytes=BATCH_BYTES, linger_ms=50) as producer:
            each = topic.rows // topic.partitions
            for partition in range(topic.partitions):
                _send(producer, topic.name, partition, rows, each)


def _send(producer: Producer, topic: str, partition: int, rows: Any, count: int) -> None:
    for begin in range(0, count, DISTINCT):
        some = rows.slice(0, min(DISTINCT, count - begin))
        times = pa.array(range(FIRST_MS + begin, FIRST_MS + begin + some.num_rows), pa.int64())
        producer.produce_arrow(topic, some.append_column("timestamp", times), partition=partition)
    producer.flush()


def _plain_rows() -> Any:
    chosen = random.Random(SEED)
    values = [chosen.randbytes(200) for _ in range(DISTINCT)]
    return pa.table({"value": pa.array(values, pa.binary())})


def _load_tool_rows() -> Any:
    value = bytes(33 + index * 7 % 90 for index in range(200))
    return pa.table({"value": pa.array([value] * DISTINCT, pa.binary())})


def _json_rows() -> Any:
    chosen = random.Random(SEED)
    keys = [f"user-{chosen.randrange(100_000):06d}".encode() for _ in range(DISTINCT)]
    values = [json.dumps(_event(chosen, key.decode())).encode() for key in keys]
    return pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})


def _event(chosen: random.Random, user: str) -> dict[str, object]:
    price = chosen.randrange(100, 100_000)
    return {
        "event_id": f"{chosen.getrandbits(64):016x}",
        "user_id": user,
        "session_id": f"{chosen.getrandbits(32):08x}",
        "at": FIRST_MS + chosen.randrange(86_400_000),
        "kind": chosen.choice(("product_viewed", "add_to_cart", "purchase_completed")),
        "product_id": f"p{int(chosen.paretovariate(1.1)) % 5000:05d}",
        "category": chosen.choice(("books", "garden", "toys", "kitchen")),
        "price_cents": price,
        "quantity": chosen.randrange(1, 5),
        "user_agent": chosen.choice(AGENTS),
        "referrer": f"https://example.com/c/{chosen.randrange(1000)}",
    }
