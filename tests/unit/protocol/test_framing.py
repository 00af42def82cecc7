import pytest

from tidelog.protocol.errors import EncodeError, InvalidFrameSize
from tidelog.protocol.framing import (
    BUSY_CAPACITY_BYTES,
    INITIAL_CAPACITY_BYTES,
    MINIMUM_ROOM_BYTES,
    ReceiveBuffer,
    framed,
)


def frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def frames(receive: ReceiveBuffer) -> list[bytes]:
    taken = []
    while (found := receive.next_frame()) is not None:
        start, end = found
        taken.append(bytes(receive.buffer[start:end]))
    return taken


def test_frames_come_out_whole_and_in_order() -> None:
    receive = ReceiveBuffer()
    receive.feed(frame(b"one") + frame(b"") + frame(b"three")[:-1])
    assert frames(receive) == [b"one", b""]
    assert receive.pending_bytes == 8
    receive.feed(b"e")
    assert frames(receive) == [b"three"]
    assert receive.pending_bytes == 0


def test_receive_into_the_room_it_gives() -> None:
    receive = ReceiveBuffer()
    data = frame(b"hello")
    room = receive.writable()
    assert len(room) >= MINIMUM_ROOM_BYTES
    room[: len(data)] = data
    receive.commit(len(data))
    assert frames(receive) == [b"hello"]


@pytest.mark.parametrize("count", [-1, INITIAL_CAPACITY_BYTES + 1])
def test_no_more_can_be_committed_than_there_was_room_for(count: int) -> None:
    with pytest.raises(ValueError, match="committed"):
        ReceiveBuffer().commit(count)


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_a_size_beyond_the_limit(size: int) -> None:
    receive = ReceiveBuffer(max_frame_bytes=100)
    receive.feed(frame(b"x" * 100) + size.to_bytes(4, "big", signed=True))
    assert receive.next_frame() == (4, 104)
    for _ in range(2):
        with pytest.raises(InvalidFrameSize) as refused:
            receive.next_frame()
        assert (refused.value.size, refused.value.limit) == (size, 100)


def test_memory_follows_what_has_arrived_not_what_is_announced() -> None:
    receive = ReceiveBuffer()
    receive.feed((104_857_600).to_bytes(4, "big"))
    arrived = 4
    while arrived < 5_000_000:
        room = receive.writable()
        assert receive.capacity <= max(INITIAL_CAPACITY_BYTES, 2 * arrived + MINIMUM_ROOM_BYTES)
        receive.commit(len(room))
        arrived += len(room)


def test_a_frame_larger_than_the_buffer() -> None:
    receive = ReceiveBuffer()
    large = bytes(range(256)) * 4096
    receive.feed(frame(b"small") + frame(large) + frame(b"after"))
    assert frames(receive) == [b"small", large, b"after"]


def test_views_of_frames_stay_what_they_are_until_release() -> None:
    """A batch waits in the buffer for its write at the end of the turn, while the connection goes on receiving."""
    receive = ReceiveBuffer(initial_capacity=8192)
    views, expected = [], []
    for index in range(100):
        payload = bytes((index,)) * 1000
        receive.feed(frame(payload))
        found = receive.next_frame()
        assert found is not None
        views.append(receive.view[found[0] : found[1]])
        expected.append(payload)
    assert views == expected


def test_after_release_the_same_memory_is_used_again() -> None:
    receive = ReceiveBuffer(initial_capacity=8192)
    receive.writable()
    buffer = receive.buffer
    for index in range(100):
        receive.feed(frame(bytes((index,)) * 1000)[:-1])
        receive.feed(bytes((index,)) + frame(b"next")[:3])
        assert frames(receive) == [bytes((index,)) * 1000]
        receive.release()
        receive.feed(frame(b"next")[3:])
        assert frames(receive) == [b"next"]
        receive.release()
    assert receive.buffer is buffer


@pytest.mark.parametrize("released", [False, True])
def test_growing_with_a_view_about_is_no_error(released: bool) -> None:
    receive = ReceiveBuffer()
    receive.feed(frame(b"held"))
    assert receive.next_frame() is not None
    view = receive.view[4:8]
    if released:
        receive.release()
    receive.feed(frame(bytes(200_000)))
    assert frames(receive) == [bytes(200_000)]
    assert released or bytes(view) == b"held"


def test_trim_gives_memory_back_only_when_nothing_is_in_it() -> None:
    receive = ReceiveBuffer()
    receive.feed(frame(bytes(300_000)) + b"\x00")
    assert len(frames(receive)) == 1
    receive.release()
    receive.trim()
    assert receive.capacity > INITIAL_CAPACITY_BYTES
    receive.feed(b"\x00\x00\x01!")
    assert frames(receive) == [b"!"]
    receive.trim()
    assert receive.capacity > INITIAL_CAPACITY_BYTES, "a frame is still in use"
    receive.release()
    receive.trim()
    assert receive.capacity == 0
    receive.feed(frame(b"again"))
    assert receive.capacity == INITIAL_CAPACITY_BYTES
    assert frames(receive) == [b"again"]


def test_a_connection_that_sent_nothing_has_no_memory() -> None:
    receive = ReceiveBuffer()
    assert (receive.capacity, len(receive.buffer)) == (0, 0)
    assert receive.next_frame() is None
    receive.release()
    receive.trim()
    assert len(receive.writable()) == receive.capacity == INITIAL_CAPACITY_BYTES


def test_a_peer_that_fills_the_buffer_gets_a_larger_one_up_to_a_bound() -> None:
    receive = ReceiveBuffer(initial_capacity=8192)
    capacities = []
    for _ in range(10):
        room = receive.writable()
        size = len(room) - 4
        room[:] = frame(bytes(size))
        receive.commit(len(room))
        assert frames(receive) == [bytes(size)]
        receive.release()
        capacities.append(receive.capacity)
    assert capacities[:3] == [16384, 32768, 65536]
    assert capacities[-1] == max(capacities) == BUSY_CAPACITY_BYTES


def test_a_peer_that_leaves_room_keeps_its_buffer() -> None:
    receive = ReceiveBuffer(initial_capacity=8192)
    for _ in range(10):
        receive.feed(frame(bytes(8000)))
        assert len(frames(receive)) == 1
        receive.release()
    assert receive.capacity == 8192


def test_frames_that_nobody_takes_do_not_get_lost() -> None:
    receive = ReceiveBuffer(initial_capacity=8192)
    sent = [bytes((index,)) * 500 for index in range(100)]
    receive.feed(b"".join(map(frame, sent)))
    assert frames(receive) == sent


def test_framed_puts_size_and_header_into_the_first_part() -> None:
    class FileRange:
        def __len__(self) -> int:
            return 1000

    batches = FileRange()
    assert framed(b"HH", [b"body", batches, b"tail"]) == [b"\x00\x00\x03\xf2HHbody", batches, b"tail"]
    assert framed(b"HH", []) == [b"\x00\x00\x00\x02HH"]


def test_a_frame_that_no_one_could_read_is_not_made() -> None:
    class FileRange:
        def __len__(self) -> int:
            return 2**31 - 1

    with pytest.raises(EncodeError):
        framed(b"HH", [b"", FileRange()])


def test_surrendered_memory_is_not_written_to_again() -> None:
    receive = ReceiveBuffer(initial_capacity=8_192)
    receive.feed(b"\x00\x00\x00\x02ab" + b"\x00\x00\x00\x02c")
    found = receive.next_frame()
    assert found is not None
    start, end = found
    kept = receive.buffer
    receive.surrender()
    receive.release()
    receive.feed(b"d" + b"\xff" * 20_000)
    assert kept[start:end] == b"ab"
    found = receive.next_frame()
    assert found is not None
    start, end = found
    assert receive.buffer[start:end] == b"cd"


def test_a_frame_that_is_put_back_comes_again() -> None:
    receive = ReceiveBuffer()
    receive.feed(frame(b"one") + frame(b"two"))
    assert receive.next_frame() is not None
    found = receive.next_frame()
    assert found is not None
    receive.put_back(found[0])
    receive.release()
    receive.feed(frame(b"three"))
    assert frames(receive) == [b"two", b"three"]


def test_discarded_memory_is_gone_but_for_who_looks_at_it() -> None:
    receive = ReceiveBuffer()
    receive.feed(frame(b"one") + frame(b"two"))
    start, end = receive.next_frame() or (0, 0)
    view = memoryview(receive.buffer)[start:end]
    receive.discard()
    assert (len(receive.buffer), receive.capacity, receive.pending_bytes) == (0, 0, 0)
    assert receive.next_frame() is None
    receive.release()
    assert bytes(view) == b"one"
