"""The keeper as its parent sees it: one for each process, started by the first broker, ended with the interpreter.

It runs in a session of its own: Ctrl-C, or a kill of the whole process group, ends the test run and not the keeper,
which then sees that its parent is gone and clears up.
"""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from typing import Any

END_S_MAX = 60


class KeeperError(Exception):
    """The keeper's reason for not doing what it was asked."""


class KeeperProcess:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self.owner_pid = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tidelog.testing.keeper", str(self.owner_pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, command: str, **arguments: object) -> dict[str, Any]:
        """Ask the keeper and return its answer. One question at a time: a keeper serves many threads, and answers each
        within milliseconds."""
        with self._lock:
            self._asked += 1
            answer = self._exchange({"number": self._asked, "command": command, **arguments})
        if "error" in answer:
            raise KeeperError(answer["error"])
        return answer

    def _exchange(self, question: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        for line in stdout:
            answer: dict[str, Any] = json.loads(line)
            # An earlier number: Ctrl-C ended the wait for that answer, and nobody wants it any more.
            if answer["number"] == question["number"]:
                return answer
        raise KeeperError(f"the keeper of the test brokers ended (exit code {self._process.wait()})")

    def end(self) -> None:
        """End the keeper by closing the pipe; it then removes what is left and exits."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(END_S_MAX)


_keeper: KeeperProcess | None = None
_keeper_lock = threading.Lock()


def keeper() -> KeeperProcess:
    """Return the keeper of this process. A forked child must not talk over its parent's pipe, and gets a keeper of its
    own."""
    global _keeper
    if os.name != "posix":
        raise OSError("tidelog.testing needs Linux or macOS; on Windows use it inside WSL")
    with _keeper_lock:
        if _keeper is None or _keeper.owner_pid != os.getpid() or not _keeper.is_alive:
            _keeper = KeeperProcess()
            atexit.register(_end_at_exit, _keeper)
        return _keeper


def _end_at_exit(process: KeeperProcess) -> None:
    if process.owner_pid == os.getpid():
        process.end()
