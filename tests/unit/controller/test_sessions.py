"""Which brokers count as silent: none to which the controller owes an answer."""

from tidelog.controller.sessions import Sessions


def sessions() -> Sessions:
    found = Sessions(timeout_ms=9_000)
    found.touch(1, 100, 0)
    found.touch(2, 200, 1_000)
    return found


def test_a_broker_whose_heartbeat_is_not_answered_is_not_silent() -> None:
    found = sessions()
    found.owe_answer(1)
    assert found.deadline == 10_000
    assert found.next_expired(9_500) is None
    assert found.next_expired(10_000) == 2
    found.answered(1, 100, 30_000)
    found.end(2)
    assert found.next_expired(38_999) is None
    assert (found.deadline, found.next_expired(39_000)) == (39_000, 1)


def test_the_last_of_several_answers_counts_and_another_registration_gains_nothing() -> None:
    found = sessions()
    found.owe_answer(1)
    found.owe_answer(1)
    found.answered(1, 99, 5_000)
    assert found.next_expired(9_500) is None
    found.answered(1, 99, 6_000)
    assert found.next_expired(9_500) == 1, "heard of in another life"
