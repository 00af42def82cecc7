"""tidelog.testing: brokers that come up, crash and come back on command, and leave nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tidelog import testing
from tidelog.testing.keeper_process import KeeperProcess, keeper

DEADLINE_S = 30

OWNER = """
import os, sys, time, tidelog.testing
broker = tidelog.testing.broker()
broker.start()
if "fork" in sys.argv and os.fork() == 0:
    time.sleep(600)  # holds the pipe to the keeper, as a pool of forked workers does
print(broker.pid, broker.data_directory.parent, flush=True)
time.sleep(600)
"""


def produce(bootstrap: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for value in values:
        producer.produce("kit", value)
    assert producer.flush(DEADLINE_S) == 0


def consume(bootstrap: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition("kit", 0, 0)])
    values = [message.value() for message in consumer.consume(count, DEADLINE_S)]
    consumer.close()
    return values


def wait_until_gone(pid: int, directory: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while is_running(pid) or directory.exists():
        assert time.monotonic() < deadline, f"left behind: process {is_running(pid)}, directory {directory.exists()}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_was_acknowledged_survives_stop_and_crash_at_the_same_address() -> None:
    with testing.broker() as b:
        address = b.bootstrap_servers
        produce(address, b"one")
        b.restart()
        produce(address, b"two")
        b.kill()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((b.host, b.port), DEADLINE_S)
        b.start()
        assert b.bootstrap_servers == address
        assert consume(address, 2) == [b"one", b"two"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a node listen beside what holds its port")
def test_nobody_else_is_given_the_port_of_a_broker_that_is_down() -> None:
    with testing.broker() as b, socket.socket() as stranger:
        b.kill()
        with pytest.raises(OSError, match="in use"):
            stranger.bind((b.host, b.port))
        b.start()
        produce(b.bootstrap_servers, b"x")


def test_the_end_of_the_block_takes_process_and_directory_away() -> None:
    with testing.broker() as b:
        pid, directory = b.pid, b.data_directory
        assert (directory / "meta.properties").exists()
        assert is_running(pid)
    assert not is_running(pid)
    assert not directory.parent.exists()


def test_settings_reach_the_broker_under_either_form_of_name() -> None:
    with testing.broker({"num.partitions": 4}, auto_create_topics_enable=True, log_segment_bytes=2_000_000) as b:
        produce(b.bootstrap_servers, b"x")
        assert sorted(path.name for path in b.data_directory.glob("kit-*")) == ["kit-0", "kit-1", "kit-2", "kit-3"]


def test_a_wrong_setting_is_refused_with_its_name() -> None:
    with pytest.raises(testing.BrokerFailed, match=r"num\.partitions"), testing.broker(num_partitions="many"):
        pass


def test_a_setting_that_nobody_knows_is_refused_with_the_nearest_name() -> None:
    expected = r"tidelog\.testing: num\.partition: unknown setting; did you mean num\.partitions\?"
    with pytest.raises(testing.BrokerFailed, match=expected), testing.broker(num_partition=3):
        pass


def test_a_setting_that_is_ignored_is_in_the_log() -> None:
    with testing.broker(num_io_threads=3) as b:
        assert "harmless" in b.log_text()
        assert "num.io.threads" in b.log_text()


def test_a_failure_inside_the_block_shows_the_log() -> None:
    def fail() -> None:
        with testing.broker() as b:
            b.log_path.write_text("WARNING something the broker said\n")
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong") as caught:
        fail()
    assert "something the broker said" in "".join(caught.value.__notes__)


def test_brokers_of_several_threads_are_several_and_outlive_the_threads_that_started_them() -> None:
    brokers = [testing.broker() for _ in range(3)]
    threads = [threading.Thread(target=b.start) for b in brokers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len({b.port for b in brokers}) == 3
        for b in brokers:
            produce(b.bootstrap_servers, b"x")
    finally:
        for b in brokers:
            b.close()


@pytest.mark.parametrize("arguments", [[], ["fork"]], ids=["alone", "with a forked child that lives on"])
def test_nothing_is_left_after_kill_9_of_the_test_run(arguments: list[str]) -> None:
    if arguments and sys.platform != "linux":
        pytest.skip("only Linux can tell the death of a process whose pipe somebody else still holds")
    command = [sys.executable, "-c", OWNER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as owner:
        assert owner.stdout is not None
        pid, directory = owner.stdout.readline().split()
        assert is_running(int(pid))
        assert Path(directory).exists()
        os.kill(owner.pid, signal.SIGKILL)
        try:
            wait_until_gone(int(pid), Path(directory))
        finally:
            os.killpg(owner.pid, signal.SIGKILL)  # the forked child


def test_a_node_does_not_outlive_its_keeper() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, directory = owner.stdout.readline().split()
        children = Path(f"/proc/{owner.pid}/task/{owner.pid}/children")
        if not children.exists():
            owner.kill()
            pytest.skip("this system does not list the children of a process")
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        wait_until_gone(int(pid), Path(directory))
        owner.kill()


def test_a_broker_that_died_by_itself_can_be_started_again() -> None:
    with testing.broker() as b:
        produce(b.bootstrap_servers, b"one")
        os.kill(b.pid, signal.SIGKILL)
        b.kill()
        b.start()
        assert consume(b.bootstrap_servers, 1) == [b"one"]


def test_one_keeper_serves_a_process() -> None:
    assert keeper() is keeper()


def test_an_answer_that_ctrl_c_kept_us_from_reading_is_passed_over() -> None:
    own = KeeperProcess()
    assert own._process.stdin is not None
    own._process.stdin.write(b'{"number": 0, "command": "open"}\n')
    opened = own.ask("open")
    assert opened["name"] == "2"
    assert Path(opened["directory"]).exists()
    own.end()
    assert not Path(opened["directory"]).exists()
