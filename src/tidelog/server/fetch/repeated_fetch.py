"""The quick way for a fetch of many partitions without a session, when it asks for what the last one asked for.

librdkafka, and with it every client that is built on it, has no fetch sessions: each request names all partitions, two
hundred say, and while nothing is produced it names the same ones with the same offsets, every time that its wait ends.
It begins the list one partition later each time, so two requests are alike block for block, not byte for byte.

So a connection keeps the last such request as if it had a session (`FetchSession.repeated`): its entries stay, with the
block of the frame that asked for each, and so does what was last said of those that had nothing to send. The next frame
is cut into its blocks. A block that is known costs a lookup; one with another offset changes its entry; and a partition
that is no longer named is forgotten. Then only partitions that have moved since, or have something to send, are counted
and read; of all others the piece of the last response is sent again.

Whatever does not fit ends this and goes the ordinary way: another head (limits, isolation, client id), a topic that was
not named before, an error in the answer, changed metadata (`Broker.generation`). The memory is bounded
(`FetchSessions`), and given back when the connection ends or rests. Compiled by mypyc.
"""

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tidelog.protocol.server_connection import Request, framed_response
from tidelog.server.fetch.delayed_fetch import DelayedFetch
from tidelog.server.fetch.frame import Block, RequestLayout, ResponseLayout
from tidelog.server.fetch.partition_read import Fetched, state_of
from tidelog.server.fetch.session import NO_SESSION, FetchEntry, FetchSession, rank_of
from tidelog.server.fetch.sessions import FINAL_EPOCH
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.handler import RequestContext, run_whole
from tidelog.storage.log.reading import FetchIsolation

if TYPE_CHECKING:
    from tidelog.server.requests.connection import ClientConnection

PARTITIONS_MIN: Final = 8  # below that the ordinary way is short enough
BLOCK_BYTES: Final = 320  # what an entry takes beyond a session's, about: its block and its piece
# How much of a turn's credit (`Turn.credit`) a request costs, beside its bytes.
COST: Final = 16_384
_FETCH: Final = int(ApiKey.FETCH)
_AFTER_CORRELATION: Final = 8  # in a frame
_KEY_VERSION: Final = Struct(">hh")


class RepeatedTopic:
    """One topic of a repeated fetch."""

    __slots__ = ("before", "blocks_at", "by_block", "by_index", "encoded", "known_as", "name", "named", "topic_id")

    def __init__(self, encoded: bytes, topic_id: Uuid, known_as: str, name: str) -> None:
        self.encoded = encoded  # its name or id, as it stands in requests and responses
        self.topic_id = topic_id
        self.known_as = known_as
        self.name = name
        self.by_block: dict[bytes, FetchEntry] = {}
        self.by_index: dict[int, FetchEntry] = {}
        self.named: list[FetchEntry] = []  # the entries that the last request named, in its order
        self.before: list[FetchEntry] = []  # those of the request before it, whose frame is being replaced
        self.blocks_at = 0  # in the last frame: where the blocks of `named` begin, if they lie in one piece


class RepeatedFetch:
    """The last fetch of a connection, as far as the next one may repeat it."""

    __slots__ = (
        "_connection",
        "_counted_bytes",
        "_frame",
        "_generation",
        "_head",
        "_head_bytes",
        "_isolation",
        "_layout",
        "_named",
        "_request",
        "_response",
        "_tail",
        "_topics",
        "_version",
        "session",
    )

    def __init__(
        self,
        connection: "ClientConnection",
        version: int,
        head_bytes: int,
        request: FetchRequest,
        isolation: FetchIsolation,
        session: FetchSession,
    ) -> None:
        self._connection = connection
        self._version = version
        self._generation = connection.broker.generation
        self._layout = RequestLayout(version)
        self._response = ResponseLayout(version, isolation)
        self._isolation = isolation
        self._request = request
        self.session = session
        self._head_bytes = head_bytes + self._layout.head_bytes
        self._frame = self._head = self._tail = b""
        self._topics: dict[bytes, RepeatedTopic] = {}
        self._named: list[RepeatedTopic] = []
        self._counted_bytes = 0

    @property
    def _size_bytes(self) -> int:
        return self.session.size_bytes + BLOCK_BYTES * len(self.session.partitions) + len(self._frame)

    # A request

    def take(self, start: int, end: int) -> bool:
        """Handle the fetch in this frame; False where the frame has to be parsed."""
        connection = self._connection
        buffer, broker, session = connection.receive.buffer, connection.broker, self.session
        if end - start < _AFTER_CORRELATION:
            return False
        key, version = _KEY_VERSION.unpack_from(buffer, start)
        if key != _FETCH or version != self._version or session.parked is not None:
            return False
        is_known = broker.generation == self._generation and self._is_known(buffer, start + _AFTER_CORRELATION, end)
        if not is_known or not self._has_room():
            connection.forget_repeated_fetch()
            return False
        request = connection.protocol.open(start, end)
        assert isinstance(request, Request), "one like it was served before"
        now_ns = broker.clock.monotonic_ns()
        context = RequestContext(connection, request, broker.turn.began_ns, now_ns, start)
        fetch = DelayedFetch(broker, context, self._request, self._isolation)
        fetch.adopt(session)
        try:
            response = run_whole(fetch.go_on())
        except Exception as error:  # noqa: BLE001 - as in `dispatch`: a bug costs one request, not the node
            connection.forget_repeated_fetch()
            broker.dispatch.fail(context, self._request, error)
            return True
        if response is not None:
            context.respond(response)
        else:
            context.handled_ns = now_ns
        connection.turn.credit -= COST
        return True

    def _is_known(self, buffer: bytearray, start: int, end: int) -> bool:
        if end - start == len(self._frame) and buffer.startswith(self._frame, start):
            return True
        frame = bytes(memoryview(buffer)[start:end])
        return frame.startswith(self._head) and self.scan(frame, None)

    def scan(self, frame: bytes, topics: list[FetchTopic] | None) -> bool:
        """Bring the entries up to date with a frame, from behind its correlation id on. False where the frame does not
        fit, and this object is of no use any more. `topics` are those of the first frame."""
        layout, session = self._layout, self.session
        first_rank, position = session.next_rank, self._head_bytes
        self._named = []
        for topic in self._topics.values():
            topic.before, topic.named = topic.named, []
        count, position = layout.count_at(frame, position)
        for number in range(count):
            after = layout.after_topic(frame, position)
            if after < 0:
                return False
            encoded = frame[position:after]
            if topics is not None:
                self._learn_topic(encoded, topics[number])
            named = self._topics.get(encoded)
            if named is None:
                return False
            if not named.named:
                self._named.append(named)
            position = self._scan_blocks(frame, after, named, first_rank)
            if position < 0:
                return False
        if session.next_rank - first_rank < len(session.partitions):
            self._forget_unnamed(first_rank)
        tail = frame[position:]
        if topics is None and tail != self._tail:
            return False
        self._frame, self._head, self._tail = frame, frame[: self._head_bytes], tail
        return bool(session.partitions)

    def _learn_topic(self, encoded: bytes, topic: FetchTopic) -> None:
        by_id, session = self.session.by_id, self.session
        topic_id, known_as = (topic.topic_id, "") if by_id else (ZERO_UUID, topic.topic)
        known = self._topics.get(encoded)
        if known is None:
            name = (self._connection.broker.topic_name(topic_id) or "") if by_id else topic.topic
            known = self._topics[encoded] = RepeatedTopic(encoded, topic_id, known_as, name)
        for each in topic.partitions:
            known.by_index[each.partition] = session.partitions[topic_id, known_as, each.partition]

    def _scan_blocks(self, frame: bytes, position: int, topic: RepeatedTopic, first_rank: int) -> int:
        """Scan one topic's blocks; return the position behind the topic, or -1 where it does not fit."""
        layout, session = self._layout, self.session
        size = layout.block_bytes
        count, position = layout.count_at(frame, position)
        end = position + count * size
        if count < 0 or end > len(frame):
            return -1
        moved_on = [] if topic.named else self._moved_on(frame, position, end, topic)
        topic.blocks_at = 0 if topic.named else position
        if moved_on:
            rank = session.next_rank
            for entry in moved_on:
                entry.rank = rank
                rank += 1
            session.next_rank, topic.named = rank, moved_on
        elif not self._look_at_blocks(frame, position, count, topic, first_rank):
            return -1
        if layout.is_flexible:
            if frame[end : end + 1] != b"\0":
                return -1
            end += 1
        return end

    def _moved_on(self, frame: bytes, position: int, end: int, topic: RepeatedTopic) -> list[FetchEntry]:
        """Return the entries of these blocks, in their order, where the blocks are those of the last frame, beginning
        with any one of them: two comparisons, instead of a look at each. Empty where they are not."""
        before, start, size = topic.before, topic.blocks_at, self._layout.block_bytes
        if not before or not start or len(before) * size != end - position:
            return []
        first = topic.by_block.get(frame[position : position + size])
        index = -1 if first is None else first.rank - before[0].rank
        if not 0 <= index < len(before):
            return []
        last, cut = self._frame, start + index * size
        head, tail = last[cut : start + len(before) * size], last[start:cut]
        is_same = frame.startswith(head, position) and frame.startswith(tail, position + len(head))
        return before[index:] + before[:index] if is_same else []

    def _look_at_blocks(self, frame: bytes, position: int, count: int, topic: RepeatedTopic, first_rank: int) -> bool:
        """Find or change the entry of each block; False where a block does not fit, or is named twice."""
        layout, session, by_block, named = self._layout, self.session, topic.by_block, topic.named
        size, rank = layout.block_bytes, session.next_rank
        for _ in range(count):
            block = frame[position : position + size]
            position += size
            entry = by_block.get(block)
            if entry is None:
                read = layout.read_block(block)
                if read is None or read.last_fetched_epoch >= 0:
                    return False
                entry = self._changed(topic, block, read)
            if entry.rank >= first_rank:
                return False  # named twice
            entry.rank = rank
            rank += 1
            named.append(entry)
        session.next_rank = rank
        return True

    def _changed(self, topic: RepeatedTopic, block: bytes, read: Block) -> FetchEntry:
        """Return the entry for a block that was not in the last frame."""
        entry = topic.by_index.get(read.partition)
        if entry is None:
            asked = FetchPartition(partition=read.partition, fetch_offset=0, partition_max_bytes=0)
            key, topic_partition = (
                (topic.topic_id, topic.known_as, read.partition),
                TopicPartition(topic.name, read.partition),
            )
            entry = self.session.add(key, topic_partition, topic.topic_id, asked)
            entry.rank = -1  # not one that this request has named before
            topic.by_index[read.partition] = entry
        topic.by_block.pop(entry.block, None)
        topic.by_block[block] = entry
        entry.block = block
        asked = entry.request
        asked.fetch_offset, asked.current_leader_epoch = read.fetch_offset, read.leader_epoch
        asked.partition_max_bytes = read.max_bytes
        self.session.unsettled[entry] = None
        return entry

    def _forget_unnamed(self, first_rank: int) -> None:
        for topic in self._topics.values():
            for entry in [each for each in topic.by_index.values() if each.rank < first_rank]:
                topic.by_block.pop(entry.block, None)
                del topic.by_index[entry.request.partition]
                self.session.forget(entry.key)

    # Memory

    def _has_room(self) -> bool:
        """Count the memory that this takes by now; False where all repeated fetches together take too much."""
        size_bytes = self._size_bytes
        grown, self._counted_bytes = size_bytes - self._counted_bytes, size_bytes
        return self._connection.broker.fetch_sessions.keep_repeated(grown)

    def keep(self) -> bool:
        """Keep the session of a request for the next one, if there is room."""
        self.session.repeated = self
        return self._has_room()

    def forget(self) -> None:
        """Let the next request go the ordinary way. One that waits goes on with its entries, and lets go of them."""
        session = self.session
        self._connection.broker.fetch_sessions.keep_repeated(-self._counted_bytes)
        self._counted_bytes = 0
        session.repeated = None
        if session.parked is None:
            session.release()

    # The response

    def parts(self, correlation_id: int, fetched: list[Fetched]) -> list[Any]:
        """Return the whole frame of a response: what was read, and the last piece of every other partition. None of
        what was read is an error."""
        layout = self._response
        read = {each.entry: each for each in fetched}
        parts: list[Any] = []
        run: list[bytes] = [layout.before, layout.count(len(self._named))]
        for topic in self._named:
            run.append(topic.encoded)
            run.append(layout.count(len(topic.named)))
            for entry in topic.named:
                one = read.get(entry)
                if one is None:
                    assert entry.piece, "a partition that is settled was read before"
                    run.append(entry.piece)
                elif one.is_settled and not one.size_bytes:
                    entry.piece = layout.empty_piece(one.data)
                    run.append(entry.piece)
                else:
                    run = self._add_records(parts, run, one)
            run.append(layout.after_array)
        run.append(layout.after_array)
        parts.append(b"".join(run))
        return framed_response(correlation_id, parts, FetchResponse, self._version)

    def _add_records(self, parts: list[Any], run: list[bytes], one: Fetched) -> list[bytes]:
        """Add the parts of a partition with records; return the run of bytes that goes on behind them."""
        if one.partition is not None:
            one.partition.metrics.bytes_out += one.size_bytes
        for part in self._response.piece(one.data):
            if isinstance(part, bytes):
                run.append(part)
            else:
                parts.append(b"".join(run))
                parts.append(part)
                run = []
        return run

    def with_settled(self, fetched: list[Fetched]) -> list[Fetched]:
        """Return what was read, and the offsets of all other partitions: for a response that is made the ordinary
        way."""
        read = {each.entry: None for each in fetched}
        whole = list(fetched)
        for entry in self.session.partitions.values():
            partition = entry.watched
            if entry not in read and partition is not None:
                data = state_of(partition, entry.request.partition)
                if self._isolation is FetchIsolation.TXN_COMMITTED:
                    data.aborted_transactions = []
                whole.append(Fetched(entry, data, partition))
        whole.sort(key=_rank_of_entry)
        return whole


def _rank_of_entry(each: Fetched) -> int:
    return rank_of(each.entry)


def remember(
    connection: "ClientConnection", request: Request, body: FetchRequest, frame_start: int, fetch: DelayedFetch
) -> None:
    """Keep what a request asks for, before it goes on, where the next one may ask for the same."""
    known = connection.repeated_fetch
    if known is not None:
        if known.session.parked is not None:
            return  # of a client with several fetches under way the first is kept
        connection.forget_repeated_fetch()
    session = fetch.session
    is_without_session = body.session_epoch == FINAL_EPOCH and body.session_id == NO_SESSION
    is_many = PARTITIONS_MIN <= len(session.partitions) <= WHOLE_ELEMENTS_MAX
    if not is_many or not is_without_session or session.id != NO_SESSION or body.forgotten_topics_data:
        return
    named_twice = sum(len(topic.partitions) for topic in body.topics) > len(session.partitions)
    if named_twice or fetch.isolation is FetchIsolation.LOG_END:
        return
    limits = FetchRequest(
        max_wait_ms=body.max_wait_ms,
        min_bytes=body.min_bytes,
        max_bytes=body.max_bytes,
        isolation_level=body.isolation_level,
        topics=[],
    )
    head_bytes = request.position - frame_start - _AFTER_CORRELATION
    repeated = RepeatedFetch(connection, request.api_version, head_bytes, limits, fetch.isolation, session)
    frame = bytes(memoryview(request.buffer)[frame_start + _AFTER_CORRELATION : request.end])
    if repeated.scan(frame, body.topics) and repeated.keep():
        connection.repeated_fetch = repeated
    else:
        repeated.forget()
