"""Reads a range of one partition as fast as its bytes come: while the caller decodes one response, the broker already
sends the next. No thread: the next request is sent before the response is handed out, and the kernel receives.

    no link -> (find the leader, connect) -> linked -> ask -> owed -> answer -> chunk, and ask again
       ^                                                        |
       +---- failed: close, say so once, back off, refresh <----+

What passes by itself is waited for, for as long as the client retries anything. What does not pass is raised: a
ClientError, and RangeLost where the log no longer has what was asked for. Whether that is an error is not for this
file to say: the caller may `seek` to what is left, and go on.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from tidelog.client.backoff import Backoff
from tidelog.client.client import Client
from tidelog.client.errors import CannotConnect, ClientError, CorruptRecords, TimedOut, error_code
from tidelog.client.fetch.fetch_link import FetchLink, open_link
from tidelog.client.fetch.fetch_reply import FetchReply
from tidelog.client.fetch.fetch_session_handler import FetchPosition
from tidelog.client.fetch.fetcher import GONE, FetchOptions, one_fetch
from tidelog.client.metadata import Node, PartitionMetadata, TopicMetadata
from tidelog.client.offsets import list_offsets
from tidelog.client.record import EARLIEST, LATEST
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.versions import Versions
from tidelog.records.aborted import AbortedTransaction
from tidelog.records.errors import RecordError
from tidelog.records.kernels_walk import BatchIndex, walk

log = logging.getLogger("tidelog.client")

# A broker that hit a bug of its own with one request may well do better with the next.
PASSES: Final = RETRIABLE | {ErrorCode.UNKNOWN_SERVER_ERROR}

# Long enough for every broker of a cluster that was just started to know its topics: a topic that is taken for gone is
# data loss to the caller.
RANGE_LOST_PATIENCE_MS: Final = 15_000

# A request asks for about as many bytes as the range has: what lies beyond its end would be sent for nothing, ten times
# as much as a small micro-batch needs. Until a chunk has shown how large records are, they are taken to be a little
# larger than most are.
BYTES_EACH_GUESSED: Final = 512
BYTES_LEAST: Final = 65_536

OpenLink = Callable[[Node, str, int], FetchLink]


class KnownLeader(NamedTuple):
    """The leader of a partition as another client has found it out, so that a fetch may go there without asking for
    metadata. Where it is out of date, that costs one try."""

    node: Node
    leader_epoch: int
    served: Versions | None = None  # of Fetch; None: not known


class Chunk(NamedTuple):
    """The batches of one response, not decoded yet."""

    data: bytes
    batches: BatchIndex  # those that are whole
    aborted: tuple[AbortedTransaction, ...]
    offset: int  # the first that was asked for: a batch may begin before it
    next_offset: int


class RangeLost(ClientError):
    """The log no longer has what was asked for: through retention, a truncation, or a topic that was deleted or
    replaced."""

    def __init__(
        self, topic_partition: TopicPartition, offset: int, of: str, available: tuple[int, int] | None, why: str
    ) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, f"fetch {topic_partition} from offset {offset}", of, why)
        self.topic_partition = topic_partition
        self.offset = offset
        self.available = available  # first offset and end; None: nothing at all


def _opener(client: Client, leader: KnownLeader | None) -> OpenLink:
    if client.access is None:
        return open_link if leader is None or leader.served is None else partial(open_link, served=leader.served)
    from tidelog.client.fetch.fetch_security import open_secured  # with all of TLS, which few need

    return partial(open_secured, client.access)


class FetchAhead:
    """A read of one partition from offset `start` to before `end`, a chunk at a time."""

    def __init__(
        self,
        client: Client,
        topic_partition: TopicPartition,
        start: int,
        end: int,
        options: FetchOptions,
        *,
        client_id: str = "tidelog",
        topic_id: Uuid | None = None,
        rack: str = "",
        leader: KnownLeader | None = None,
        open_link: OpenLink | None = None,
    ) -> None:
        """Prepare to read. `topic_id`: the topic that is meant, where another may have got its name since. `rack`:
        where the reader is, for a broker that knows of a replica near it (KIP-392). `leader`: spares the question, if
        it still leads."""
        self.topic_partition = topic_partition
        self.offset = start
        self.end = end
        self._client = client
        self._options = options
        self._client_id = client_id
        self._topic_id = topic_id
        self._rack = rack
        self._leader = leader
        self._open_link = open_link
        self._link: FetchLink | None = None
        self._is_owed = False  # a request is in flight on the link
        self._bytes_each = BYTES_EACH_GUESSED  # per offset, as the last chunk had them
        self._follower: int | None = None  # the replica that the leader has sent us to
        self._backoff = Backoff(client.world.entropy)
        self._failing_since_ms: int | None = None
        self._gone_since_ms: int | None = None  # since when brokers say that there is no such topic
        self._starving_since_ms: int | None = None
        self._resume_ms = 0  # throttled until then
        self._was_throttled = False

    def next_chunk(self) -> Chunk | None:
        """Return the next chunk; None when the end is reached. The opening of this file says what ClientError and
        RangeLost mean."""
        while self.offset < self.end:
            try:
                frame, reply = self._answer()
                chunk = self._read(frame, reply)
            except (OSError, ProtocolError) as error:
                self._failed(self._error(ErrorCode.NETWORK_EXCEPTION, str(error)))
            except ClientError as error:
                self._failed(error)
            else:
                if chunk is not None:
                    return chunk
        return None

    def seek(self, offset: int) -> None:
        self.close()
        self.offset = offset
        self._failing_since_ms = self._gone_since_ms = self._starving_since_ms = None

    def close(self) -> None:
        """Close the link. It is opened again where another chunk is asked for."""
        if self._link is not None:
            self._link.close()
        self._link, self._is_owed = None, False

    # Asking

    def _answer(self) -> tuple[bytes, FetchReply]:
        link = self._linked()
        if not self._is_owed:
            self._ask(link, self.offset)
        answer = link.answer()
        self._is_owed = False
        return answer

    def _linked(self) -> FetchLink:
        if self._link is None:
            timeout_ms = self._client.request_timeout_ms + self._options.max_wait_ms
            opened = self._open_link or _opener(self._client, self._leader)
            self._link = opened(self._node(), self._client_id, timeout_ms)
        return self._link

    def _ask(self, link: FetchLink, offset: int) -> None:
        left_ms = self._resume_ms - self._client.now_ms()
        if left_ms > 0:
            self._client.pause(left_ms)
        if self._topic_id is not None and not link.takes_ids:
            self._leader = None  # the broker goes by name: the metadata tell whether it is the same topic
        if self._leader is None:
            wanted = FetchPosition(self._topic().topic_id, offset, self._partition().leader_epoch)
        else:
            wanted = FetchPosition(self._topic_id or ZERO_UUID, offset, self._leader.leader_epoch)
        request = one_fetch(wanted, self.topic_partition, self._options)
        request.rack_id = self._rack
        request.topics[0].partitions[0].partition_max_bytes = self._enough_bytes(offset)
        link.ask(request)
        self._is_owed = True

    def _enough_bytes(self, offset: int) -> int:
        return min(self._options.partition_bytes, max(BYTES_LEAST, (self.end - offset) * self._bytes_each))

    def _ask_ahead(self) -> None:
        """Send the next request before the caller decodes this response. A failure only closes the link: it is found
        again, and dealt with, when the answer is needed."""
        if self.offset >= self.end or self._resume_ms > self._client.now_ms() or self._link is None:
            return
        try:
            self._ask(self._link, self.offset)
        except (OSError, ProtocolError, ClientError):
            self.close()

    def _node(self) -> Node:
        if self._leader is not None and self._follower is None:
            return self._leader.node
        self._topic()  # asks for the metadata, where there are none yet
        nodes = self._client.metadata.nodes
        if self._follower is not None and self._follower in nodes:
            return nodes[self._follower]
        self._follower = None
        leader = self._partition().leader
        if leader not in nodes:
            raise self._error(ErrorCode.LEADER_NOT_AVAILABLE, "the partition has no leader")
        return nodes[leader]

    def _topic(self) -> TopicMetadata:
        found = self._client.topic(self.topic_partition.topic)
        if self._topic_id is None:
            self._topic_id = found.topic_id
        if ZERO_UUID not in (found.topic_id, self._topic_id) and found.topic_id != self._topic_id:
            raise self._lost(None, "the topic was deleted and made anew")
        return found

    def _partition(self) -> PartitionMetadata:
        found = self._client.metadata.partition(self.topic_partition)
        if found is None:
            raise self._error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic has no such partition")
        return found

    # Reading answers

    def _read(self, frame: bytes, reply: FetchReply) -> Chunk | None:
        self._note_throttling(reply.throttle_time_ms)
        code = error_code(reply.error_code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range()
            return None
        if code is not ErrorCode.NONE:
            raise self._error(code, None)
        if reply.partition != self.topic_partition.partition:
            raise self._error(ErrorCode.UNKNOWN_SERVER_ERROR, "the response is about another partition")
        self._works_again()
        if reply.start == reply.end:
            self._nothing_came(reply)
            return None
        return self._chunk(frame, reply)

    def _chunk(self, frame: bytes, reply: FetchReply) -> Chunk:
        index = self._walk(frame, reply)
        offset = self.offset
        self.offset = index.last_offsets[len(index) - 1] + 1
        # At least one: whether the batches are in order is checked where they are decoded.
        self._bytes_each = (reply.end - reply.start) // max(1, self.offset - index.base_offsets[0]) + 1
        self._starving_since_ms = None
        self._ask_ahead()
        return Chunk(frame, index, reply.aborted, offset, self.offset)

    def _walk(self, frame: bytes, reply: FetchReply) -> BatchIndex:
        try:
            index = walk(frame, reply.start, reply.end)
        except RecordError as error:
            raise self._corrupt(str(error)) from error
        if not len(index):
            raise self._corrupt(f"{reply.end - reply.start} bytes hold no whole batch")
        if index.last_offsets[len(index) - 1] < self.offset:
            raise self._corrupt("every batch that came lies before it")
        return index

    def _nothing_came(self, reply: FetchReply) -> None:
        """Deal with an answer without records, although the caller knows of some before `end`: the high watermark of a
        new leader may lag for a moment, a transaction may be open, or the log was truncated."""
        nearer = reply.preferred_read_replica if self._rack else -1
        if nearer >= 0 and nearer != self._follower:
            self._follower = nearer
            self.close()
            return
        if self._follower is not None:
            self._leave_follower()
            return
        now_ms = self._client.now_ms()
        if self._starving_since_ms is None:
            self._starving_since_ms = now_ms
        if now_ms - self._starving_since_ms >= self._client.retry_timeout_ms:
            self._starved(reply)

    def _starved(self, reply: FetchReply) -> None:
        if reply.high_watermark <= self.offset:
            first = reply.log_start_offset
            raise self._lost((first, reply.high_watermark), f"the log ends at {reply.high_watermark}")
        message = f"no records came, though the log goes on to {reply.high_watermark}"
        if self._options.read_committed and reply.last_stable_offset <= self.offset:
            message = "a transaction has been open there all the time; end it, or wait for its timeout"
        raise TimedOut(ErrorCode.REQUEST_TIMED_OUT, self._asked, self._of, message)

    def _out_of_range(self) -> None:
        if self._follower is not None:
            self._leave_follower()  # it may lag behind; the leader knows
            return
        found = [self._edge(EARLIEST), self._edge(LATEST)]
        if found[0] <= self.offset <= found[1]:
            raise self._error(ErrorCode.OFFSET_NOT_AVAILABLE, "it was out of range, and is not any more")
        raise self._lost((found[0], found[1]), f"the log has offsets {found[0]} to {found[1]}")

    def _edge(self, which: int) -> int:
        found = list_offsets(self._client, {self.topic_partition: which})[self.topic_partition]
        if isinstance(found, ClientError):
            raise found
        return found.offset

    def _leave_follower(self) -> None:
        """Read from the leader, and stay there: with our rack it would only send us to the follower again."""
        self._follower, self._rack = None, ""
        self.close()

    # What goes wrong

    def _failed(self, error: ClientError) -> None:
        """Wait before the next try; raise the error if it does not pass by itself or has lasted too long."""
        of = self._of
        self.close()
        if self._follower is not None:
            self._leave_follower()
        if isinstance(error, RangeLost | CannotConnect | TimedOut | CorruptRecords) or error.code not in PASSES:
            raise error
        if self._leader is not None:
            self._leader = None  # it may lead no more: ask the metadata
            return
        self._check_patience(error, of)
        self._client.pause(self._backoff.next_ms())
        self._client.refresh()

    def _check_patience(self, error: ClientError, of: str) -> None:
        now_ms, patience_ms = self._client.now_ms(), self._client.retry_timeout_ms
        if self._failing_since_ms is None:
            self._failing_since_ms = now_ms
            reason = f"{error.code.name}: {error.message}" if error.message else error.code.name
            log.warning("%s (%s): %s; trying again for %g s", self._asked, of, reason, patience_ms / 1000)
        if error.code not in GONE:
            self._gone_since_ms = None
        elif self._gone_since_ms is None:
            self._gone_since_ms = now_ms
        elif now_ms - self._gone_since_ms >= min(RANGE_LOST_PATIENCE_MS, patience_ms):
            raise self._lost(None, "the topic or the partition was deleted")
        if now_ms - self._failing_since_ms >= patience_ms:
            raise error

    def _works_again(self) -> None:
        if self._failing_since_ms is not None:
            lasted_ms = self._client.now_ms() - self._failing_since_ms
            log.warning("%s (%s): works again after %.1f s", self._asked, self._of, lasted_ms / 1000)
            self._failing_since_ms = self._gone_since_ms = None
            self._backoff.reset()

    def _note_throttling(self, throttle_time_ms: int) -> None:
        """Remember until when the broker reads nothing from us; asking only then keeps the socket's buffers free."""
        if throttle_time_ms > 0:
            self._resume_ms = self._client.now_ms() + throttle_time_ms
            if not self._was_throttled:
                log.warning("%s (%s): throttled by a quota, first for %d ms", self._asked, self._of, throttle_time_ms)
            self._was_throttled = True

    @property
    def _asked(self) -> str:
        return f"fetch {self.topic_partition} from offset {self.offset}"

    @property
    def _of(self) -> str:
        return self._client.name if self._link is None else str(self._link.node)

    def _error(self, code: ErrorCode, message: str | None) -> ClientError:
        return ClientError(code, self._asked, self._of, message)

    def _corrupt(self, message: str) -> CorruptRecords:
        return CorruptRecords(ErrorCode.CORRUPT_MESSAGE, self._asked, self._of, message)

    def _lost(self, available: tuple[int, int] | None, why: str) -> RangeLost:
        return RangeLost(self.topic_partition, self.offset, self._of, available, why)
