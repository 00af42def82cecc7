"""Operations that wait in the purgatory, and those that no longer do."""

from tidelog.server.requests.purgatory import SMALL, Purgatory

FAR_MS = 2_147_483_647


class Operation:
    def __init__(self) -> None:
        self.is_done = False
        self.is_gone = False
        self.expired = 0

    def is_abandoned(self) -> bool:
        return self.is_gone

    def expire(self) -> None:
        self.expired += 1
        self.is_done = True


def test_each_expires_when_its_time_has_come() -> None:
    purgatory, operations = Purgatory(), [Operation() for _ in range(3)]
    for operation, deadline_ms in zip(operations, (30, 10, 20), strict=True):
        purgatory.add(operation, deadline_ms)
    first: int | None = purgatory.deadline_ms
    assert first == 10
    assert [purgatory.is_due(now_ms) for now_ms in (9, 10)] == [False, True]
    purgatory.expire(20)
    assert [each.expired for each in operations] == [0, 1, 1]
    operations[0].is_done = True
    left: int | None = purgatory.deadline_ms
    assert left is None
    purgatory.expire(100)
    assert operations[0].expired == 0


def test_those_that_are_done_or_abandoned_do_not_pile_up() -> None:
    purgatory = Purgatory()
    waiting = Operation()
    purgatory.add(waiting, 5)
    for number in range(20 * SMALL):
        operation = Operation()
        purgatory.add(operation, FAR_MS)
        operation.is_done, operation.is_gone = number % 2 == 0, number % 2 == 1
    assert len(purgatory) <= 2 * SMALL
    purgatory.expire(5)
    assert waiting.expired == 1


def test_a_crowd_that_is_due_together_is_spread_over_turns() -> None:
    purgatory, operations = Purgatory(), [Operation() for _ in range(5)]
    for operation in operations:
        purgatory.add(operation, 10)
    for turn in range(1, 6):
        purgatory.expire(10, lambda: True)
        assert sum(each.expired for each in operations) == turn
    last: int | None = purgatory.deadline_ms
    assert last is None
