"""The client's half of a fetch session: which partitions a request names, and which it leaves out."""

from tidelog.client.fetch.fetch_session_handler import MAX_SESSION_EPOCH, FetchPosition, FetchSessionHandler
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.messages.fetch import FetchRequest, FetchResponse

ONE, TWO = Uuid(b"1" * 16), Uuid(b"2" * 16)
A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def wanted(offset: int, topic_id: Uuid = ONE) -> FetchPosition:
    return FetchPosition(topic_id, offset, 0)


def said(request: FetchRequest) -> dict[tuple[str, int], int]:
    return {(topic.topic, each.partition): each.fetch_offset for topic in request.topics for each in topic.partitions}


def forgotten(request: FetchRequest) -> list[tuple[Uuid, int]]:
    return [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]


def answer(session: FetchSessionHandler, session_id: int = 5) -> None:
    session.answered(FetchResponse(throttle_time_ms=0, session_id=session_id, responses=[]))


def begun(*topic_partitions: TopicPartition) -> FetchSessionHandler:
    session = FetchSessionHandler()
    session.request({topic_partition: wanted(10) for topic_partition in topic_partitions}, 100)
    answer(session)
    return session


def test_the_first_request_says_everything_and_later_ones_what_changed() -> None:
    session = FetchSessionHandler()
    first = session.request({A: wanted(10), B: wanted(20)}, 100)
    assert (first.session_id, first.session_epoch, said(first)) == (0, 0, {A: 10, B: 20})
    answer(session)
    second = session.request({A: wanted(11), B: wanted(20)}, 100)
    assert (second.session_id, second.session_epoch, said(second)) == (5, 1, {A: 11})
    answer(session)
    third = session.request({A: wanted(11), B: wanted(20)}, 100)
    assert (third.session_epoch, said(third), forgotten(third)) == (2, {}, [])


def test_what_is_not_wanted_any_more_is_forgotten_and_comes_back() -> None:
    session = begun(A, B)
    request = session.request({A: wanted(10)}, 100)
    assert (said(request), forgotten(request)) == ({}, [(ONE, 1)])
    answer(session)
    request = session.request({A: wanted(10), B: wanted(10)}, 100)
    assert (said(request), forgotten(request)) == ({B: 10}, [])


def test_a_topic_that_was_made_anew_is_another_one() -> None:
    session = begun(A)
    request = session.request({A: wanted(10, TWO)}, 100)
    assert (said(request), forgotten(request)) == ({A: 10}, [(ONE, 0)])


def test_after_a_reset_everything_is_said_again_and_the_old_session_named() -> None:
    session = begun(A)
    session.reset()
    request = session.request({A: wanted(10)}, 100)
    assert (request.session_id, request.session_epoch, said(request)) == (5, 0, {A: 10})


def test_a_broker_without_room_for_a_session_is_told_everything_each_time() -> None:
    session = FetchSessionHandler()
    for _ in range(2):
        request = session.request({A: wanted(10)}, 100)
        assert (request.session_id, request.session_epoch, said(request)) == (0, 0, {A: 10})
        answer(session, session_id=0)


def test_epochs_wrap_to_1() -> None:
    session = begun(A)
    session._epoch = MAX_SESSION_EPOCH
    assert session.request({A: wanted(10)}, 100).session_epoch == MAX_SESSION_EPOCH
    answer(session)
    assert session.request({A: wanted(10)}, 100).session_epoch == 1
