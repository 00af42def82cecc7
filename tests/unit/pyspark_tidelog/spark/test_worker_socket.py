"""That a worker acknowledges what it was sent, when its reader or writer is unpickled, and that nobody else does; and
that it ends without a word when the JVM has hung up."""

import os
import pickle
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType
from tests.unit.pyspark_tidelog.spark.test_process import run_as

from pyspark_tidelog.sink.writers import batch_writer, stream_writer
from pyspark_tidelog.source.batch_reader import batch_reader
from pyspark_tidelog.source.options import source_options
from pyspark_tidelog.source.stream_reader import stream_reader
from pyspark_tidelog.spark import worker_socket

GIVEN = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "t"}
WRITTEN = {"kafka.bootstrap.servers": "localhost:1", "topic": "t"}
VALUE = StructType([StructField("value", BinaryType())])

READERS_AND_WRITERS: dict[str, Callable[[], Any]] = {
    "batch reader": lambda: batch_reader(source_options(GIVEN, is_streaming=False)),
    "stream reader": lambda: stream_reader(source_options(GIVEN, is_streaming=True)),
    "batch writer": lambda: batch_writer(WRITTEN, VALUE, False),
    "stream writer": lambda: stream_writer(WRITTEN, VALUE, False),
}


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as jvm:
            worker, _ = server.accept()
            with worker:
                yield worker
        assert jvm.fileno() < 0


def is_held_back(connection: socket.socket) -> bool:
    return not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(sys.platform != "linux", reason="the delay is Linux's")
@pytest.mark.parametrize("name", READERS_AND_WRITERS)
def test_unpickled_in_a_worker(name: str, connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    command: Any = pickle.dumps(READERS_AND_WRITERS[name]())
    run_as(monkeypatch, "pyspark.daemon")
    assert is_held_back(connection)
    assert vars(pickle.loads(command))
    assert not is_held_back(connection)


def test_unpickled_anywhere_else(connection: socket.socket) -> None:
    pickle.loads(pickle.dumps(READERS_AND_WRITERS["batch reader"]()))
    assert is_held_back(connection)


@pytest.mark.skipif(sys.platform != "linux", reason="the delay is Linux's")
def test_only_connections_are_counted(connection: socket.socket) -> None:
    before = worker_socket.acknowledge_now()
    left, right = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)), left, right:
        assert worker_socket.acknowledge_now() == before >= 2
    assert connection.fileno() >= 0


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are found in /proc")
def test_what_is_sent_to_a_jvm_that_hung_up_goes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(monkeypatch, "pyspark.daemon")
    jvm, worker = socket.socketpair()
    with os.fdopen(os.dup(worker.fileno()), "wb") as outfile:
        outfile.write(b"rows")
        jvm.close()
        assert worker_socket.stop_quietly() >= 2  # the copy too
        outfile.flush()
    os.close(worker.detach())


def test_a_connection_of_a_library_is_left_alone_although_its_server_has_closed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_as(monkeypatch, "pyspark.daemon")
    server, kept = socket.socketpair()
    with kept:
        server.close()
        worker_socket.stop_quietly()
        with pytest.raises(BrokenPipeError):
            kept.sendall(b"the next request, which a pool tries again over a new connection")


def test_a_connection_that_is_alive_is_not_cut(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(monkeypatch, "pyspark.daemon")
    worker_socket.stop_quietly()
    connection.sendall(b"an error, say")


def test_nothing_is_cut_outside_of_a_worker() -> None:
    jvm, worker = socket.socketpair()
    with worker:
        jvm.close()
        assert worker_socket.stop_quietly() == 0
        with pytest.raises(BrokenPipeError):
            worker.sendall(b"rows")
