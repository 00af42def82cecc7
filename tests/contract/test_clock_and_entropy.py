"""The clock and chance, in both worlds."""

from tests.contract.conftest import World

from tidelog.model.ids import METADATA_TOPIC_ID, ZERO_UUID, format_uuid
from tidelog.ports.entropy import random_uuid


def test_the_clock(world: World) -> None:
    assert world.clock.wall_ms() > 1_600_000_000_000
    first = world.clock.monotonic_ms()
    assert first <= world.clock.monotonic_ms()
    assert isinstance(first, int)


def test_random_bytes_have_the_size_and_differ(world: World) -> None:
    assert [len(world.entropy.random_bytes(size)) for size in (0, 1, 32)] == [0, 1, 32]
    assert world.entropy.random_bytes(32) != world.entropy.random_bytes(32)


def test_random_below_stays_below_and_reaches_all(world: World) -> None:
    drawn = [world.entropy.random_below(3) for _ in range(200)]
    assert sorted(set(drawn)) == [0, 1, 2]
    assert world.entropy.random_below(1) == 0


def test_uuids_are_kafkas(world: World) -> None:
    uuids = [random_uuid(world.entropy) for _ in range(300)]
    assert len(dict.fromkeys(uuids)) == 300
    for uuid in uuids:
        assert (len(uuid), uuid[6] >> 4, uuid[8] >> 6) == (16, 4, 2)
        assert not format_uuid(uuid).startswith("-")
        assert uuid not in (ZERO_UUID, METADATA_TOPIC_ID)
