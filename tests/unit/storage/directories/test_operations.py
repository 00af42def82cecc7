"""Operations: what they wait for, in which order they go on, and how they end."""

from tidelog.ports.errors import IoError, StorageFault
from tidelog.ports.files import Completion, Ticket
from tidelog.storage.directories.operations import GIVE_WAY, Operation, Operations, Steps

ONE, TWO = Ticket(1), Ticket(2)


class World:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.faults: list[StorageFault] = []
        self.operations = Operations(lambda _operation, fault: self.faults.append(fault))

    def waits(self, name: str, *tickets: Ticket) -> Steps:
        self.said.append(f"{name} begins")
        try:
            yield tickets
            self.said.append(f"{name} goes on")
        finally:
            self.said.append(f"{name} ends")

    def follows(self, name: str, other: Operation) -> Steps:
        yield other
        self.said.append(f"{name} goes on")

    def complete(self, ticket: Ticket, fault: StorageFault | None = None) -> None:
        self.operations.complete(Completion(ticket, fault))


def test_it_goes_on_when_all_that_it_waits_for_has_completed() -> None:
    world = World()
    operation = world.operations.begin("/a", world.waits("x", ONE, TWO))
    world.complete(TWO)
    assert world.said == ["x begins"]
    world.complete(ONE)
    assert world.said == ["x begins", "x goes on", "x ends"]
    assert (operation.is_done, operation.fault, len(world.operations)) == (True, None, 0)


def test_a_fault_is_raised_where_it_waits_and_told() -> None:
    world = World()
    operation = world.operations.begin("/a", world.waits("x", ONE, TWO))
    fault = IoError("/a", "broken")
    world.complete(ONE, fault)
    world.complete(TWO)
    assert world.said == ["x begins", "x ends"]
    assert (operation.fault, world.faults) == (fault, [fault])


def test_pieces_of_work_are_done_in_turn_and_no_more_than_there_is_time_for() -> None:
    world = World()

    def pieces(name: str) -> Steps:
        for number in range(2):
            world.said.append(f"{name}{number}")
            yield GIVE_WAY

    world.operations.begin("/a", pieces("x"))
    world.operations.begin("/b", pieces("y"))
    assert world.said == ["x0", "y0"]
    assert world.operations.work(1) == 0
    assert world.said == ["x0", "y0", "x1"]
    assert world.operations.has_work
    assert world.operations.work(10) == 7, "one for y1, and one for each end"
    assert world.said == ["x0", "y0", "x1", "y1"]


def test_one_waits_for_the_end_of_another_however_that_ends() -> None:
    world = World()
    first = world.operations.begin("/a", world.waits("x", ONE))
    world.operations.begin("/b", world.follows("y", first))
    world.complete(ONE, IoError("/a", "broken"))
    world.operations.work(1)
    world.operations.begin("/b", world.follows("z", first))
    world.operations.work(1)
    assert world.said == ["x begins", "x ends", "y goes on", "z goes on"]


def test_a_directory_takes_its_operations_with_it() -> None:
    world = World()
    gone = world.operations.begin("/a", world.waits("x", ONE))
    world.operations.begin("/b", world.waits("y", ONE))
    world.operations.drop("/a", IoError("/a", "broken"))
    world.complete(ONE)
    assert gone.is_done
    assert world.said == ["x begins", "y begins", "x ends", "y goes on", "y ends"]
    assert world.faults == [], "it is known already"
