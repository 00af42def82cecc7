"""Bad input from strangers against a real node in a process of its own, while another client must notice nothing."""

import contextlib
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded_frames import framed

from tidelog.model.errors import ErrorCode
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.server.events import LINES_MAX, WINDOW_MS

PATIENCE_S = 60
LOOK_AGAIN_S = 0.2
READY = re.compile(r"ready on (\S+):(\d+)")
MANY = 2_000
TIDELOG = str(Path(sys.executable).parent / "tidelog")
GROWTH_BYTES_MAX = 48 << 20


class Node:
    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process, self.port = process, port
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)

    def says(self, text: str) -> bool:
        """Wait until the node logs `text`, and tell whether it did. Log lines arrive through a pipe and a thread, a
        moment after the event."""
        give_up = time.monotonic() + PATIENCE_S
        while not any(text in line for line in self.lines) and time.monotonic() < give_up:
            time.sleep(LOOK_AGAIN_S)
        return any(text in line for line in self.lines)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    @property
    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Node]:
    command = [TIDELOG, "dev", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if match := READY.search(line):
                break
        else:
            pytest.fail("the node did not start; it said:\n" + "".join(said))
        try:
            yield Node(process, int(match[2]))
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0, "whatever came, it stops in order"


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """Run a node with Kafka's own limit for idle connections, since the witness may be silent for as long as a test
    takes."""
    with running("--ephemeral") as found:
        yield found


class Client:
    """A well-behaved client, on a connection of its own."""

    def __init__(self, node: Node) -> None:
        self._sock = node.connect()
        self._protocol = ClientConnection(RESPONSES, "witness")

    def ask(self, request: object, version: int) -> Any:
        for part in self._protocol.send(request, version):
            self._sock.sendall(part)
        while (found := self._protocol.next_response()) is None:
            count = self._sock.recv_into(self._protocol.receive.writable())
            if not count:
                raise EOFError
            self._protocol.receive.commit(count)
        self._protocol.receive.release()
        return found.message

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._sock.close()

    def is_well(self) -> bool:
        return bool(self.ask(MetadataRequest(topics=[]), 9).error_code == 0)


@pytest.fixture
def witness(node: Node) -> Iterator[Client]:
    with Client(node) as client:
        assert client.is_well()
        yield client
        assert client.is_well(), "another client noticed"


def is_closed(sock: socket.socket, witness: Client) -> bool:
    """Tell whether the node closes the connection within `PATIENCE_S`, skipping whatever it sends first. The witness
    asks it all the while."""
    sock.settimeout(LOOK_AGAIN_S)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if not sock.recv(65_536):
                return True
        except ConnectionResetError:
            return True
        except TimeoutError:
            assert witness.is_well()
    return False


GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303") + bytes(189),
    "two gigabytes": b"\x7f\xff\xff\xff" + bytes(1_000),
    "negative": b"\x80\x00\x00\x00" + bytes(1_000),
    "nothing": b"\x00\x00\x00\x00",
    "text": b"hello, is this a database?\n",
    "unknown api": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "unsupported version": struct.pack(">ihhih", 10, 1, 3, 1, -1),
    # The first byte makes the length more than any request may have: of purely random lengths one in forty is allowed,
    # and the node would rightly wait for the rest of such a frame.
    "noise": b"\x7f" + os.urandom(100) + b"\xff" * 10_000,
}


@pytest.mark.parametrize("kind", list(GARBAGE))
def test_garbage_is_closed_and_named(node: Node, witness: Client, kind: str) -> None:
    with node.connect() as sock:
        peer = sock.getsockname()
        with contextlib.suppress(ConnectionError):
            sock.sendall(GARBAGE[kind])
        assert is_closed(sock, witness)
    assert witness.is_well()
    assert len([line for line in node.lines if f":{peer[1]} " in line]) <= 1


def test_a_flood_is_a_handful_of_lines(node: Node, witness: Client) -> None:
    before, began = len(node.lines), time.monotonic()
    for _ in range(300):
        with node.connect() as sock:
            sock.sendall(b"\xff\xff\xff\xff")
            assert is_closed(sock, witness)
    assert witness.is_well()
    windows = 2 + int((time.monotonic() - began) * 1000 / WINDOW_MS)  # and a part of one at either end
    assert len(node.lines) - before <= windows * (LINES_MAX + 1)


def test_half_a_frame_and_silence() -> None:
    with running("--ephemeral", "--override", "connections.max.idle.ms=1000") as impatient:
        with impatient.connect() as sock:
            sock.sendall(b"\x00\x00\x10\x00" + bytes(100))
            assert sock.recv(1) == b"", "it is closed within our patience"
        with Client(impatient) as client:
            assert client.is_well()


def test_a_claim_of_a_hundred_megabytes_costs_nothing_until_they_come(node: Node, witness: Client) -> None:
    before = node.resident_bytes
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            sock = stack.enter_context(node.connect())
            sock.sendall(struct.pack(">i", 100_000_000) + bytes(1_000))
        assert witness.is_well()
        assert node.resident_bytes - before < GROWTH_BYTES_MAX


def test_a_client_that_never_reads(node: Node, witness: Client) -> None:
    """A client sends requests of sixty bytes, each answered with tens of thousands, and reads no answer."""
    asked = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    request = framed(DescribeConfigsRequest(resources=[asked], include_documentation=True), 4)
    witness.ask(DescribeConfigsRequest(resources=[asked], include_documentation=True), 4)
    before = node.resident_bytes
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            sock = stack.enter_context(node.connect())
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(300):
                    sock.send(request)
        for _ in range(20):
            assert witness.is_well()
        assert node.resident_bytes - before < GROWTH_BYTES_MAX


def produced(witness: Client, topic: str, batch: bytes) -> int:
    data = [PartitionProduceData(index=0, records=batch)]
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    response = witness.ask(request, 9)
    return int(response.responses[0].partition_responses[0].error_code)


@pytest.fixture
def ready_topic(witness: Client, topic: str) -> str:
    """Return `topic` once it takes records; it is created by a Metadata request that asks for it."""
    batch = BatchBuilder()
    batch.append(1, None, b"x")
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        witness.ask(asked, 9)
        if produced(witness, topic, bytes(batch.build())) == 0:
            return topic
    pytest.fail("the topic did not come")


def test_a_batch_that_inflates_to_a_gigabyte(node: Node, witness: Client, ready_topic: str) -> None:
    """The batch is less than a megabyte on the wire. It is refused, and costs the node a bounded amount of memory."""
    builder = BatchBuilder(options=BatchOptions(compression=CompressionType.ZSTD))
    builder.append(1, None, bytes(300 << 20))
    bomb = bytes(builder.build())
    assert len(bomb) < 1_000_000
    before = node.resident_bytes
    code = produced(witness, ready_topic, bomb)
    assert code == ErrorCode.MESSAGE_TOO_LARGE, code
    assert witness.is_well()
    assert node.resident_bytes - before < 4 * GROWTH_BYTES_MAX


def test_thousands_of_connections(node: Node, witness: Client) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MANY + 500), hard))
    try:
        with contextlib.ExitStack() as stack:
            count = min(MANY, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 400)
            socks = [stack.enter_context(node.connect()) for _ in range(count)]
            request = framed(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
            for sock in socks:
                sock.sendall(request)
            for sock in socks:
                assert sock.recv(4)
            assert witness.is_well()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def start_and_fail(*arguments: str) -> tuple[int, str]:
    command = [TIDELOG, "dev", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_port_that_is_taken(node: Node, witness: Client) -> None:
    code, said = start_and_fail("--ephemeral", "--port", str(node.port))
    assert code == 1
    assert str(node.port) in said
    assert "Traceback" not in said


def test_a_second_start_on_the_directory(tmp_path: Path) -> None:
    directory = str(tmp_path / "data")
    with running("--dir", directory) as first, Client(first) as client:
        assert client.is_well()
        code, said = start_and_fail("--dir", directory, "--port", "0")
        assert code == 1
        assert "Traceback" not in said
        assert client.is_well()


def test_limits_of_connections() -> None:
    limit = ("--override", "max.connections.per.ip=5")
    with running("--ephemeral", *limit) as limited, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(limited)) for _ in range(4)]
        assert all(client.is_well() for client in clients)
        extra = [stack.enter_context(limited.connect()) for _ in range(5)]
        assert is_closed(extra[-1], clients[0])
        assert all(client.is_well() for client in clients)
        assert limited.says("max.connections.per.ip")
