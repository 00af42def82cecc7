"""The base of every housekeeping process: one job after another, as its node tells it on standard input.

When the node closes the socket, or dies, the process ends: at once on Linux, elsewhere when it next says or hears
something.
"""

import ctypes
import os
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable

from tidelog.io.housekeeping_frames import Begin, FailedAsText, FrameDecoder, encode
from tidelog.ports.housekeeping import Cancelled, Finished, WorkId

PR_SET_PDEATHSIG = 1  # of prctl(2)
RECEIVE_BYTES = 1 << 16


class NodeGone(Exception):
    """The node has ended or closed the socket: there is nobody left to work for."""


class Worker(ABC):
    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.messages: list[object] = []
        self._decoder = FrameDecoder()

    @abstractmethod
    def carry_out(self, work: WorkId, job: object) -> Finished | Cancelled | FailedAsText:
        """Do the whole job; return how it ended."""

    def run(self) -> None:
        """Do one job after another until the node is gone (NodeGone)."""
        while True:
            message = self._receive()
            if isinstance(message, Begin):
                self.send(self.carry_out(message.work, message.job))

    def _receive(self) -> object:
        while not self.messages:
            self.receive_some()
        return self.messages.pop(0)

    def receive_some(self) -> None:
        try:
            data = self.channel.recv(RECEIVE_BYTES)
        except ConnectionError as error:
            raise NodeGone from error
        if not data:
            raise NodeGone
        self.messages += self._decoder.feed(data)

    def send(self, value: object) -> None:
        try:
            self.channel.sendall(encode(value))
        except ConnectionError as error:
            raise NodeGone from error


def end_with_parent(parent: int) -> None:
    """Have this process end when its parent dies. The signal comes only for a parent that dies from now on; one that
    was dead before is noticed by its id."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)


def work_for_node(worker: Callable[[socket.socket], Worker], niceness: int) -> None:
    """Run the main program of a worker; its only argument is the process id of the node."""
    end_with_parent(int(sys.argv[1]))
    os.nice(niceness)
    with socket.socket(fileno=os.dup(0)) as channel:
        channel.setblocking(True)
        try:
            worker(channel).run()
        except NodeGone:
            return
