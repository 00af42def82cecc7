"""Frames in a stream of bytes: four bytes of size, then so many bytes.

`ReceiveBuffer` is made for `socket.socket.recv_into`: the owner asks for room (`writable`), says how much arrived
(`commit`), and takes frames (`next_frame`) as positions in the buffer. Nothing is copied, and a frame may be changed in
place, as the produce path does when it patches offsets into batches.

The memory of frames that were handed out is not used again before the owner calls `release`, because views of it may
still wait for their write at the end of the turn. The bytearray is never resized (with views of it about that would be
a BufferError): when room runs out, the unread rest moves, within the buffer if everything was released, otherwise to a
new one, and the old one lives as long as the last view of it.

Memory is bound by what the peer has really sent: there is none before its first byte, and the size of a frame is a
claim, so the buffer at most doubles at a time, up to that size. A peer that fills the buffer with smaller frames gets a
larger one as well, because every receive costs a system call and its share of a turn. The capacity is kept until the
owner calls `trim`, on a connection that has gone quiet. (The bound holds for an owner that takes the frames that are
there before it asks for more room.)

Compiled by mypyc: this runs with every receive and every frame.
"""

from struct import Struct
from typing import Any, Final

from tidelog.protocol.errors import EncodeError, InvalidFrameSize
from tidelog.protocol.varint import MAX_LENGTH

SIZE_BYTES = 4
DEFAULT_MAX_FRAME_BYTES = 104_857_600  # socket.request.max.bytes
# The first size of a buffer. Most requests are far smaller, and ten thousand connections have to fit into memory.
INITIAL_CAPACITY_BYTES = 65_536
# The least room for a receive: one into less is not worth its system call.
MINIMUM_ROOM_BYTES = 4_096
# How far small frames alone make the buffer grow: what fits into a processor's cache, so that received bytes are still
# there when they are checked and written.
BUSY_CAPACITY_BYTES = 262_144

_SIZE: Final = Struct(">i")
_NOTHING: Final = bytearray()


def framed(header: bytes, parts: list[Any]) -> list[Any]:
    """Return the parts of a message as a frame. Size and header join the first part, so that a small frame is one
    part."""
    size = len(header) + sum(map(len, parts))
    if size > MAX_LENGTH:
        raise EncodeError("a frame", f"{size} bytes, {MAX_LENGTH} is the most")
    head = _SIZE.pack(size) + header
    return [head + parts[0], *parts[1:]] if parts else [head]


class ReceiveBuffer:
    def __init__(
        self,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        initial_capacity: int = INITIAL_CAPACITY_BYTES,
    ) -> None:
        self.max_frame_bytes = max_frame_bytes
        self.initial_capacity = max(initial_capacity, 2 * MINIMUM_ROOM_BYTES)
        self.buffer = _NOTHING  # until the first byte comes: thousands of connections never send one
        self.view = memoryview(_NOTHING)
        self.capacity = 0
        self._start = 0  # of the bytes that are not handed out yet
        self._end = 0  # of the bytes that have arrived
        self._lent = False  # frames handed out since the last release
        self._was_filled = False  # a receive took all the room, and might have brought more

    @property
    def pending_bytes(self) -> int:
        """The number of bytes that have arrived and are not handed out: part of a frame, or frames that nobody has
        asked for yet."""
        return self._end - self._start

    @property
    def claimed_bytes(self) -> int:
        """The size, by its own claim, of the frame that has begun and is not handed out, its size field included; 0
        where it is not known yet."""
        if self.pending_bytes < SIZE_BYTES:
            return 0
        (size,) = _SIZE.unpack_from(self.buffer, self._start)
        return SIZE_BYTES + int(size)

    def writable(self) -> memoryview:
        """Return room for the next receive, never empty. Valid until the next call of any other method."""
        end = self._end
        if end != self._start or end + MINIMUM_ROOM_BYTES > self.capacity:
            self._make_room()
            end = self._end
        return self.view[end:] if end else self.view

    def commit(self, count: int) -> None:
        """Note that `count` bytes have been written to the room that `writable` returned."""
        room = self.capacity - self._end
        if not 0 <= count <= room:
            raise ValueError(f"{count} bytes committed, there was room for {room}")
        self._end += count
        if count == room:
            self._was_filled = True

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take bytes that arrived some other way (TLS, the simulator), in as many steps as the room asks for."""
        rest = memoryview(data)
        while rest:
            room = self.writable()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            self.commit(count)
            rest = rest[count:]

    def next_frame(self) -> tuple[int, int] | None:
        """Return where the next whole frame begins (after its size) and ends in `buffer`; None where it has not
        arrived."""
        start = self._start
        available = self._end - start
        if available < SIZE_BYTES:
            return None
        (size,) = _SIZE.unpack_from(self.buffer, start)
        if not 0 <= size <= self.max_frame_bytes:
            raise InvalidFrameSize(size, self.max_frame_bytes)
        if available - SIZE_BYTES < size:
            return None
        self._lent = True
        self._start = start + SIZE_BYTES + size
        return start + SIZE_BYTES, self._start

    def put_back(self, start: int) -> None:
        """Make the frame that was handed out last, from `start` on, the next one again: it was not looked at."""
        self._start = start - SIZE_BYTES

    def release(self) -> None:
        """Note that no view of a frame handed out so far is in use any more."""
        self._lent = False
        if self._start == self._end:
            self._start = self._end = 0
            if self._was_filled:
                self._was_filled = False
                if self.capacity < BUSY_CAPACITY_BYTES:
                    self._replace(2 * self.capacity)

    def surrender(self) -> None:
        """Leave the memory of the frames handed out so far to their users, who need it beyond `release`; what arrives
        goes elsewhere."""
        self._replace(max(self.initial_capacity, self.pending_bytes + MINIMUM_ROOM_BYTES))

    def trim(self) -> None:
        """Give the memory back, if nothing is in it."""
        if self._start == self._end and self.capacity and not self._lent:
            self._start = self._end = self.capacity = 0
            self.buffer, self.view = _NOTHING, memoryview(_NOTHING)

    def discard(self) -> None:
        """Give the memory back, whatever is in it, because the connection has ended. Views of it keep what they see."""
        self._start = self._end = self.capacity = 0
        self._lent = self._was_filled = False
        self.buffer, self.view = _NOTHING, memoryview(_NOTHING)

    def _make_room(self) -> None:
        """Make room behind the unread bytes for the frame that has begun, as far as its claim is believed by now."""
        pending = self._end - self._start
        need = max(self._begun_frame_bytes(), pending + MINIMUM_ROOM_BYTES)
        if self._start + need <= self.capacity:
            return
        if need > self.capacity:
            self._replace(max(need, 2 * pending, self.initial_capacity))
        elif self._lent:
            self._replace(self.capacity)
        else:
            self._move_to_front()

    def _begun_frame_bytes(self) -> int:
        """The size of the frame that has begun, its size field included, but not more than twice what has arrived of
        it. An impossible size is not an error yet: `next_frame` says so when its turn has come, however the bytes
        before it were cut."""
        if self.pending_bytes < SIZE_BYTES:
            return SIZE_BYTES
        (size,) = _SIZE.unpack_from(self.buffer, self._start)
        return min(SIZE_BYTES + int(size), 2 * self.pending_bytes)

    def _move_to_front(self) -> None:
        pending = self.pending_bytes
        self.view[:pending] = self.view[self._start : self._end]
        self._start, self._end = 0, pending

    def _replace(self, capacity: int) -> None:
        pending = self.pending_bytes
        buffer = bytearray(capacity)
        buffer[:pending] = self.view[self._start : self._end]
        self.buffer, self.view = buffer, memoryview(buffer)
        self.capacity = capacity
        self._start, self._end = 0, pending
        self._lent = False
