"""What is asked of our node alone: its start from cold files, idle connections, ten thousand partitions."""

import resource
import socket
import sys
import sysconfig
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

import tidelog
from benchmarks.broker.frames import metadata_frame
from benchmarks.broker.measures import BrokerSizes, Figures, drop_from_cache
from benchmarks.broker.systems import System, running

IDLE_SECONDS = 5.0
KB_EACH, IDLE_CPU = "KB each", "CPU %"


def start_seconds(name: str, scratch: Path, times: int, *, is_cold: bool) -> list[float]:
    """Return how long each start takes on an empty directory; `is_cold`: with the program's files dropped from the page
    cache. The very first start after an installation writes what Python compiles, and does not count."""
    seconds = []
    for index in range(times + 1):
        if is_cold:
            drop_program()
        with running(name, scratch / f"start-{index}") as system:
            seconds.append(system.start_seconds)
    return seconds[1:]


def drop_program() -> None:
    """Drop from the page cache what an import may read: the interpreter's library, what is installed, and our
    sources."""
    roots = {sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], str(Path(tidelog.__file__).parent)}
    for root in sorted(roots):
        for path in Path(root).rglob("*"):
            if path.suffix in (".py", ".pyc", ".so") and path.is_file():
                with suppress(OSError):
                    drop_from_cache(str(path), is_dirty=False)
    with suppress(OSError):
        drop_from_cache(str(Path(sys.executable).resolve()), is_dirty=False)


def idle_connections(system: System, count: int) -> Figures:
    """Open connections that have asked for metadata once, as clients do, and then send nothing; measure what they
    cost."""
    _raise_descriptor_limit(count + 100)
    request = metadata_frame()
    with ExitStack() as stack:
        before = system.resident_bytes()
        for index in range(count):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", system.port), timeout=30))
            sock.sendall(request)
            assert sock.recv(65536), f"connection {index} was closed"
        time.sleep(IDLE_SECONDS + 2)  # as long as a quiet connection keeps its buffer
        cpu = system.cpu_seconds()
        time.sleep(IDLE_SECONDS)
        cpu = system.cpu_seconds() - cpu
        grown = system.resident_bytes() - before
    return {KB_EACH: grown / count / 1000, IDLE_CPU: cpu / IDLE_SECONDS * 100}


def _raise_descriptor_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def create_partitions(system: System, count: int) -> float:
    """Create partitions; return the seconds until all of them are there. It counts for the longest turn."""
    admin = AdminClient({"bootstrap.servers": system.bootstrap})
    began = time.perf_counter()
    admin.create_topics([NewTopic("many", count, 1)], operation_timeout=60, request_timeout=60)["many"].result(90)
    while len(list(system.directory.glob("many-*"))) < count:
        time.sleep(0.05)
        if time.perf_counter() - began > 120:
            raise RuntimeError(f"{system.name}: {count} partitions did not come into being")
    return time.perf_counter() - began


def sizes_of_idle(sizes: BrokerSizes) -> int:
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(sizes.idle_connections, hard - 200)
