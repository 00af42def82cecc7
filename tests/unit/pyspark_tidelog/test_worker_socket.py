"""That a worker acknowledges what it was sent, when its reader or writer is unpickled, and that nobody else does."""

import pickle
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType
from tests.unit.pyspark_tidelog.test_spark_process import run_as

from pyspark_tidelog import worker_socket
from pyspark_tidelog.batch_reader import batch_reader
from pyspark_tidelog.options import source_options
from pyspark_tidelog.sink import batch_writer, stream_writer
from pyspark_tidelog.stream_reader import stream_reader

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
