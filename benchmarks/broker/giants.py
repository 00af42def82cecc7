"""Requests of 10 MB to our node, one of each API and array: the longest turn and the memory that each makes it take.

    python -m benchmarks.broker.giants            every API that has arrays, some minutes
    python -m benchmarks.broker.giants metadata   those whose name has one of the words in it
    python -m benchmarks.broker.giants known      requests that name thousands of existing topics (`giants_known`)

Each goes to a node of its own, with as many elements as are taken, the names in it filled up to 10 MB; and with 10 MB
of the smallest elements, which are more than are taken. The memory is the most that the process ever had beyond what it
had before. The turn is without the time in which other programs had the processors (`timed_node`); by the clock on the
wall it is told beside it, and so is the CPU time in it.
"""

import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from tests.support.giant_requests import array_paths, elements_each, giant

from benchmarks.broker.giants_known import KnownTopics
from benchmarks.broker.systems import OURS, LongTurn, System, running
from benchmarks.coordinators.admin import AdminConnection
from benchmarks.harness import console, hold, verdict
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.registry import REQUESTS, RESPONSES
from tidelog.protocol.schema import schema_of
from tidelog.server.requests.element_limits import elements_max_of
from tidelog.server.requests.registry import HANDLERS

REQUEST_BYTES = 10_000_000
TURN_MS_MAX, MEMORY_MB_MAX = 50.0, 100.0
PATIENCE_SECONDS = 60
UNSTABLE = {22: 5}  # versions that are declared, and not served without a setting
RECEIVE_BYTES = 1 << 20
SETTLE_SECONDS = 2.0
KNOWN = "known"


@dataclass(slots=True)
class GiantFigures:
    request: str
    answer: str
    turn: LongTurn
    memory_mb: float


class ProbeConnection:
    """A connection that sends a request and waits for its answer."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._protocol = ClientConnection(RESPONSES, "giant")

    def ask(self, request: Any, version: int) -> str:
        """Send a request; return its outcome: an answer's size, or the end of the connection."""
        frame = b"".join(self._protocol.send(request, version))
        try:
            self._socket.sendall(frame)
            return f"{self._receive():,} bytes"
        except (ConnectionError, EOFError):
            return "closed"

    def _receive(self) -> int:
        head = self._exactly(4)
        (size,) = struct.unpack(">i", head)
        left = size
        while left:
            part = self._socket.recv(min(left, RECEIVE_BYTES))
            if not part:
                raise EOFError
            left -= len(part)
        return int(size)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()


def peak_bytes(system: System) -> int:
    status = Path(f"/proc/{system.process.pid}/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def prepare(system: System) -> None:
    """Load the coordinators, and create the topic whose name the requests have."""
    client = ProbeConnection(system.port)
    topic = CreatableTopic(name="n0", num_partitions=100, replication_factor=1, assignments=[], configs=[])
    client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    for key_type in (0, 1):
        client.ask(FindCoordinatorRequest(key="n0", key_type=key_type), 3)
    client.close()


def requests_of(cls: type, version: int, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield requests with their names: one at the limit with 10 MB of names, and one with 10 MB of elements."""
    each = elements_each(cls, version, path)
    count = elements_max_of(schema_of(cls).api_key) // each - len(path)
    width = min(240, REQUEST_BYTES // count)
    yield f"{count:,}", giant(cls, version, path, count, width=width)
    yield f"{count:,} of one name", giant(cls, version, path, count, distinct=False)
    few = 1_000
    size_each = len(encode(giant(cls, version, path, few, distinct=False), version)) / few
    yield "10 MB of them", giant(cls, version, path, int(REQUEST_BYTES / size_each), distinct=False)


def measure(cls: type, version: int, path: tuple[str, ...], which: str, request: Any, scratch: Path) -> GiantFigures:
    with running(OURS, scratch, is_timed=True) as system:
        prepare(system)
        time.sleep(SETTLE_SECONDS)  # the rest is imported in idle moments, and is not what is measured
        began = time.time()
        answer, grown = ask(system, request, version)
    title = f"{cls.__name__.removesuffix('Request')} v{version}: {'.'.join(path)}, {which}"
    return GiantFigures(title, answer, system.longest_turn(began), grown / 1e6)


def ask(system: System, request: Any, version: int) -> tuple[str, int]:
    """Send a request; return its outcome, and how much memory the node took meanwhile."""
    before = system.resident_bytes()
    Path(f"/proc/{system.process.pid}/clear_refs").write_text("5")  # the peak begins anew
    client = ProbeConnection(system.port)
    answer = client.ask(request, version)
    client.close()
    return answer, peak_bytes(system) - before


def measured_known(scratch: Path) -> Iterator[GiantFigures]:
    """Measure all requests that name what is there on one node: it takes a while until it has its topics."""
    with running(OURS, scratch, is_timed=True) as system, AdminConnection(system.port) as admin:
        time.sleep(SETTLE_SECONDS)  # what it needs first is imported in idle moments
        known = KnownTopics(admin)
        known.create()
        yield GiantFigures("CreateTopics, 10,000 partitions", "", system.longest_turn(), 0.0)
        for title, request, version in known.requests():
            began = time.time()
            answer, grown = ask(system, request, version)
            time.sleep(SETTLE_SECONDS)  # what it has brought about may be still under way
            yield GiantFigures(title, answer, system.longest_turn(began), grown / 1e6)


def measured(words: list[str]) -> Iterator[GiantFigures]:
    with tempfile.TemporaryDirectory(prefix="tidelog-giants-") as name:
        if not words or KNOWN in words:
            yield from measured_known(Path(name) / KNOWN)
        number = 0
        for api_key in sorted(HANDLERS):
            cls = REQUESTS[api_key]
            version = UNSTABLE.get(api_key, schema_of(cls).versions.highest)
            if words and not any(word in cls.__name__.lower() for word in words):
                continue
            for path in array_paths(cls, version):
                for which, request in requests_of(cls, version, path):
                    number += 1
                    yield measure(cls, version, path, which, request, Path(name) / str(number))


def main(words: list[str]) -> int:
    table = Table(title="Requests of 10 MB", title_justify="left", title_style="bold")
    for column in ("", "answer", "longest turn", "CPU", "on the wall", "memory", " "):
        table.add_column(column, justify="right" if column.strip() else "left")
    missed = 0
    for each in measured(words):
        turn, memory = each.turn, f"{each.memory_mb:.0f} MB"
        met = turn.own_ms <= TURN_MS_MAX and each.memory_mb <= MEMORY_MB_MAX
        hold(each.request, f"{turn.own_ms:.1f} ms, {memory}", f"<= {TURN_MS_MAX:g} ms, {MEMORY_MB_MAX:g} MB", met)
        times = [f"{took:.1f} ms" for took in (turn.own_ms, turn.cpu_ms, turn.wall_ms)]
        table.add_row(each.request, each.answer, *times, memory, verdict(met))
        console.print(f"[dim]{each.request}: {times[0]} ({times[1]} CPU, {times[2]} on the wall), {memory}[/]")
        missed += not met
    console.print(table)
    return missed


if __name__ == "__main__":
    sys.exit(1 if main([word.lower() for word in sys.argv[1:]]) else 0)
