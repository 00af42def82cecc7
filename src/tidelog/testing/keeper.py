"""The keeper: `python -m tidelog.testing.keeper PARENT_PID`. Forks nodes on command; outlives its parent by moments.

Commands and answers are lines of JSON on stdin and stdout. How it learns that its parent is gone:
- the end of stdin, on every system;
- on Linux also a pidfd of the parent, because a child that the parent forked may still hold the pipe. Not
  PR_SET_PDEATHSIG: that signal comes when the *thread* that started us ends, and brokers are started from threads.
Then every node is killed and every directory removed. The other way round, a node whose keeper was killed sees the end
of its socket, and does the same for itself (node_process.py).

A node's port is held for it, so that it can have it again after a stop or a kill: nobody else is given it meanwhile.

It has no threads of its own, so that forking is safe. What a node needs for its start is imported once, before the
first fork; the rest while the first node serves, so that later ones begin with it.
"""

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidelog.io.preloading import Preloading
from tidelog.server.node.deferred_modules import deferred_modules
from tidelog.testing.node_process import run_node

START_S_MAX = 60
STOP_S_MAX = 30
PIPE_READ_BYTES = 1 << 16

Answer = dict[str, Any]


class ParentGone(Exception):
    """The signal that the parent has ended: nobody is left to keep nodes for."""


class CommandRefused(Exception):
    """A command that cannot be carried out; its text becomes the error of the answer."""


@dataclass(slots=True)
class NodeHandle:
    """One node and what the keeper holds for it, from `open` to `forget`; the node may run, or have been stopped."""

    directory: Path
    pid: int = 0
    link: socket.socket | None = None  # the node reports its start over it, and closes it at its end
    holder: socket.socket | None = None  # bound to the node's port, and never listening


class Keeper:
    def __init__(self, parent_pid: int) -> None:
        self._parent = _watch(parent_pid)
        self._buffer = b""
        self._nodes: dict[str, NodeHandle] = {}
        self._opened = 0
        self._preloading = Preloading(deferred_modules(has_metrics=True))

    def run(self) -> None:
        commands: dict[str, Callable[[Answer], Answer]] = {
            "open": self._open,
            "start": self._start,
            "stop": self._stop,
            "kill": self._kill,
            "forget": self._forget,
        }
        while True:
            question = json.loads(self._read_line())
            try:
                answer = commands[question["command"]](question)
            except CommandRefused as refusal:
                answer = {"error": str(refusal)}
            _write(json.dumps({"number": question["number"], **answer}).encode() + b"\n")
            if question["command"] == "start" and not self._preloading.is_done:
                self._preloading.finish()
                gc.freeze()

    def clear(self) -> None:
        for node in self._nodes.values():
            self._end(node, signal.SIGKILL)
            shutil.rmtree(node.directory, ignore_errors=True)

    def _open(self, _question: Answer) -> Answer:
        self._opened += 1
        name = str(self._opened)
        self._nodes[name] = NodeHandle(Path(tempfile.mkdtemp(prefix="tidelog-testing-")))
        return {"name": name, "directory": str(self._nodes[name].directory)}

    def _start(self, question: Answer) -> Answer:
        node = self._nodes[question["name"]]
        self._end(node, signal.SIGKILL)  # a node that died by itself and was not noticed
        if node.holder is None and not question["port"]:
            node.holder = _hold_port(question["host"])
            question["port"] = node.holder.getsockname()[1] if node.holder is not None else 0
        self._fork(node, question)
        assert node.link is not None
        if not self._wait(node.link.fileno(), START_S_MAX):
            self._end(node, signal.SIGKILL)
            raise CommandRefused(f"the broker was not ready after {START_S_MAX} s")
        report = node.link.recv(PIPE_READ_BYTES)
        if not report.startswith(b"{"):
            code = self._end(node, signal.SIGKILL)
            raise CommandRefused(f"the broker ended while it started (exit code {code})")
        answer: Answer = json.loads(report)
        if "error" in answer:
            self._end(node, signal.SIGKILL)
            raise CommandRefused(answer["error"])
        return {**answer, "pid": node.pid}

    def _fork(self, node: NodeHandle, question: Answer) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            others = [each for other in self._nodes.values() for each in (other.link, other.holder) if each is not None]
            for each in (ours, *others):
                each.close()
            if self._parent is not None:
                os.close(self._parent)
            run_node(theirs, node.directory, question)
        theirs.close()
        node.pid, node.link = pid, ours

    def _stop(self, question: Answer) -> Answer:
        node = self._nodes[question["name"]]
        if node.link is None:
            return {}
        os.kill(node.pid, signal.SIGTERM)
        is_ended = self._wait(node.link.fileno(), STOP_S_MAX)
        code = self._end(node, signal.SIGKILL)
        if not is_ended:
            raise CommandRefused(f"the broker did not stop within {STOP_S_MAX} s and was killed")
        if code != 0:
            raise CommandRefused(f"the broker did not stop in order (exit code {code})")
        return {}

    def _kill(self, question: Answer) -> Answer:
        self._end(self._nodes[question["name"]], signal.SIGKILL)
        return {}

    def _forget(self, question: Answer) -> Answer:
        node = self._nodes.pop(question["name"])
        self._end(node, signal.SIGKILL)
        if node.holder is not None:
            node.holder.close()
        shutil.rmtree(node.directory, ignore_errors=True)
        return {}

    def _end(self, node: NodeHandle, how: signal.Signals) -> int:
        """End the node and return its exit code; a signal's number is negated."""
        if node.link is None:
            return 0
        node.link.close()
        node.link = None
        os.kill(node.pid, how)
        return os.waitstatus_to_exitcode(os.waitpid(node.pid, 0)[1])

    def _read_line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._wait(sys.stdin.fileno(), None)
            read = os.read(sys.stdin.fileno(), PIPE_READ_BYTES)
            if not read:
                raise ParentGone
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _wait(self, descriptor: int, timeout_s: float | None) -> bool:
        """Wait until the descriptor is readable; return whether it was in time. ParentGone as soon as the parent is."""
        poll = select.poll()
        poll.register(sys.stdin.fileno(), 0)  # no events but the end of the pipe
        if self._parent is not None:
            poll.register(self._parent, select.POLLIN)
        poll.register(descriptor, select.POLLIN)
        ready = [found for found, _ in poll.poll(None if timeout_s is None else timeout_s * 1000)]
        if descriptor in ready:
            return True
        if ready:
            raise ParentGone
        return False


def _watch(parent_pid: int) -> int | None:
    """Return a descriptor that is readable when the parent has ended; None where the system has no such thing."""
    watched = None
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # an old kernel, or a sandbox that forbids it: stdin still tells
            watched = os.pidfd_open(parent_pid)
    if os.getppid() != parent_pid:
        raise ParentGone
    return watched


def _hold_port(host: str) -> socket.socket | None:
    """Return a socket on a free port, which the node may listen on as well; None where no second socket may have a
    port. The system gives a port that is bound to nobody who asks for any free one. The node asks for it by number, and
    with SO_REUSEADDR, which on Linux is enough beside a socket that does not listen."""
    if sys.platform != "linux":
        return None
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, 0))
    return holder


def _write(line: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the next read finds out that the parent is gone
        os.write(sys.stdout.fileno(), line)


def _end_in_order(_number: int, _frame: object) -> None:
    raise ParentGone


def main() -> None:
    signal.signal(signal.SIGTERM, _end_in_order)
    gc.freeze()  # imports stay for good: no node's collector need look at them, which would copy their pages
    with contextlib.suppress(ParentGone):
        keeper = Keeper(int(sys.argv[1]))
        try:
            keeper.run()
        finally:
            keeper.clear()


if __name__ == "__main__":
    main()
