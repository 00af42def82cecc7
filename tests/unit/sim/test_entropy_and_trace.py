from tidelog.sim.entropy import SimEntropy, stream
from tidelog.sim.trace import Trace


def test_a_seed_and_a_name_are_one_stream() -> None:
    draws = [SimEntropy(7, name).random_bytes(8) for name in ("a", "a", "b")]
    assert draws[0] == draws[1] != draws[2]
    assert SimEntropy(8, "a").random_bytes(8) != draws[0]


def test_a_stream_is_the_same_in_every_release() -> None:
    assert stream(1, "x").getrandbits(32) == 2719793260


def test_the_trace_is_its_lines_in_order() -> None:
    one, same, other = Trace(keep_lines=True), Trace(), Trace()
    for trace in (one, same):
        trace.record("write", "/a", 1)
        trace.record("sync", "/a")
    other.record("sync", "/a")
    other.record("write", "/a", 1)
    assert one.lines == ["write /a 1", "sync /a"]
    assert (one.digest() == same.digest(), one.digest() == other.digest()) == (True, False)
    assert same.lines is None
    assert same.count == 2
