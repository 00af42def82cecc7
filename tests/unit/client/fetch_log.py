"""A partition as a list of batches, and links to it that answer as a broker does, with frames that the codec wrote.

Each step of `script` applies to one response first: a function changes the response, an exception is raised instead.
"""

from collections.abc import Callable
from struct import pack, unpack_from
from typing import Any

from tests.unit.client.scripted import ScriptedClient

from tidelog.client.fetch.fetch_link import FetchLink
from tidelog.client.fetch.fetch_reply import FetchReply, read_reply
from tidelog.client.metadata import Node, PartitionMetadata, TopicMetadata
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tidelog.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.protocol.versions import Versions

PLACE = TopicPartition("orders", 3)
TOPIC_ID = Uuid(b"0123456789abcdef")
Step = Callable[[FetchResponse], None] | Exception


class FetchLog:
    def __init__(self, *batches: bytes, version: int = 18) -> None:
        self.batches = list(batches)
        self.version = version
        self.log_start_offset = 0
        self.end = max((_last_offset(each) + 1 for each in batches), default=0)
        self.aborted: list[tuple[int, int, int]] = []  # producer id, first offset, offset of the marker
        self.script: list[Step] = []
        self.requests: list[FetchRequest] = []
        self.nodes: list[int] = []  # the ids of nodes that links were opened to
        self.clients: list[ScriptedClient] = []

    def client(self, **options: Any) -> ScriptedClient:
        client = _Client(3, **options)
        client.metadata.topics["orders"] = topic_metadata(TOPIC_ID, leader=1)
        client.answers["ListOffsets"] = [self._edges]
        self.clients.append(client)
        return client

    def open_link(self, node: Node, _client_id: str, _timeout_ms: int) -> FetchLink:
        self.nodes.append(node.id)
        return _LogLink(self, node)

    def response(self, request: FetchRequest) -> FetchResponse:
        asked = request.topics[0].partitions[0]
        offset, limit = asked.fetch_offset, asked.partition_max_bytes
        is_there = self.log_start_offset <= offset <= self.end
        found = [each for each in self.batches if _last_offset(each) >= offset] if is_there else []
        records, rest = b"".join(found[:1]), found[1:]
        while rest and len(records) + len(rest[0]) <= limit:
            records += rest.pop(0)
        if rest:
            records += rest[0][: limit - len(records)] if len(records) < limit else b""
        hidden = [(producer, first) for producer, first, marker in self.aborted if marker >= offset]
        data = PartitionData(
            partition_index=asked.partition,
            error_code=0 if is_there else ErrorCode.OFFSET_OUT_OF_RANGE,
            high_watermark=self.end,
            last_stable_offset=self.end,
            log_start_offset=self.log_start_offset,
            aborted_transactions=[AbortedTransaction(producer_id=p, first_offset=first) for p, first in hidden],
            records=records,
        )
        topic = FetchableTopicResponse(topic=request.topics[0].topic, topic_id=TOPIC_ID, partitions=[data])
        return FetchResponse(throttle_time_ms=0, responses=[topic])

    def _edges(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        wanted = request.topics[0].partitions[0]
        offset = self.end if wanted.timestamp == -1 else self.log_start_offset
        found = ListOffsetsPartitionResponse(partition_index=PLACE.partition, error_code=0, timestamp=-1, offset=offset)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[found])])


class _Client(ScriptedClient):
    refreshes = 0

    def refresh(self) -> None:
        self.refreshes += 1


class _LogLink(FetchLink):
    def __init__(self, log: FetchLog, node: Node) -> None:
        self.node = node
        self._log = log
        self._served = Versions(4, log.version)
        self._owed: list[FetchRequest] = []
        self.is_closed = False

    def ask(self, request: FetchRequest) -> None:
        assert not self._owed, "one request at a time"
        assert not self.is_closed
        self._owed.append(request)
        self._log.requests.append(request)

    def answer(self) -> tuple[bytes, FetchReply]:
        log, response = self._log, self._log.response(self._owed.pop())
        step = log.script.pop(0) if log.script else None
        if isinstance(step, Exception):
            raise step
        if step is not None:
            step(response)
        head = pack(">i", 7) + (b"\0" if log.version >= 12 else b"")
        frame = head + encode(response, log.version)
        return frame, read_reply(frame, log.version, 7)

    def close(self) -> None:
        self.is_closed = True


def topic_metadata(topic_id: Uuid, leader: int, epoch: int = 5) -> TopicMetadata:
    partitions = [PartitionMetadata(index, leader, epoch, [1, 2], [1, 2], []) for index in range(PLACE.partition + 1)]
    return TopicMetadata("orders", topic_id, False, partitions)


def refused(code: ErrorCode) -> Step:
    def change(response: FetchResponse) -> None:
        data = response.responses[0].partitions[0]
        data.error_code, data.records = code, None

    return change


def partition_of(response: FetchResponse) -> PartitionData:
    return response.responses[0].partitions[0]


def _last_offset(batch: bytes) -> int:
    base, delta = unpack_from(">q", batch)[0], unpack_from(">i", batch, 23)[0]
    return int(base + delta)
