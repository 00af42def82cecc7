"""The handle of one broker: its address, its directory, its log, and the ways to end it and bring it back.

running --stop()--> stopped --start()--> running      in order, as SIGTERM does
running --kill()--> stopped                           as a crash: unsynced writes are in the kernel's cache
any --close()--> gone, with its directory

The port stays the same over stop, kill and start, so that clients find the broker again.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tidelog.testing.keeper_process import KeeperError, KeeperProcess, keeper

LOG_LINES_SHOWN = 40
NOT_STARTED = "the broker was not started yet: use it in a `with` block, or call start()"

Setting = str | int | float | bool


class BrokerFailed(RuntimeError):
    """The error of a broker that did not start, or did not stop in order; the text ends with the last lines of its
    log."""


def broker(overrides: Mapping[str, Setting] | None = None, /, **settings: Setting) -> "Broker":
    """Return a broker that runs from `with` to the end of its block. Settings are Kafka's, as keywords with underscores
    for dots (`num_partitions=3`), or by their own names in a mapping (`{"num.partitions": 3}`)."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Broker({**named, **(overrides or {})})


class Broker:
    """A broker in a process of its own. Its methods may be called from any thread."""

    def __init__(self, settings: Mapping[str, Setting] | None = None) -> None:
        self.settings = {name: setting_text(value) for name, value in (settings or {}).items()}
        self._keeper: KeeperProcess | None = None
        self._lock = threading.RLock()
        self._name: str | None = None
        self.host = "127.0.0.1"
        self.port = 0  # chosen by the first start
        self.pid = 0  # of the node, while it runs
        self._directory: Path | None = None

    @property
    def bootstrap_servers(self) -> str:
        if not self.port:
            raise BrokerFailed(NOT_STARTED)
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Tell whether the broker ran at the last command: one that died by itself is noticed by the next command."""
        return self.pid != 0

    @property
    def data_directory(self) -> Path:
        """The log directory, in Kafka's own format: `tidelog log dump` and Apache's tools read it."""
        return self._home / "data"

    @property
    def log_path(self) -> Path:
        """The file with what the broker logged, over all its starts."""
        return self._home / "node.log"

    @property
    def _home(self) -> Path:
        if self._directory is None:
            raise BrokerFailed(NOT_STARTED)
        return self._directory

    def start(self) -> None:
        """Start the broker, and return when it answers. Starting one that runs changes nothing."""
        with self._lock:
            if self.is_running:
                return
            if self._name is None:
                self._keeper = keeper()
                opened = self._ask("open")
                self._name, self._directory = opened["name"], Path(opened["directory"])
            reply = self._ask("start", host=self.host, port=self.port, settings=self.settings)
            self.port, self.pid = int(reply["port"]), int(reply["pid"])

    def stop(self) -> None:
        """Stop the broker in order: clients are answered, logs are flushed, the next start has nothing to recover."""
        self._end("stop")

    def kill(self) -> None:
        """Kill the broker as kill -9 does. The data stays, and the next start recovers it."""
        self._end("kill")

    def restart(self) -> None:
        with self._lock:
            self.stop()
            self.start()

    def close(self) -> None:
        """End the node, if it runs, and remove its directory."""
        with self._lock:
            if self._name is None:
                return
            try:
                self._end("stop")
            finally:
                self._ask("forget")
                self._name = None  # a start after this makes a new, empty broker at the same address

    def log_text(self) -> str:
        """Return what the broker has logged so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def __enter__(self) -> "Broker":
        try:
            self.start()
        except BrokerFailed:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            error.add_note(f"tidelog.testing: the broker at {self.host}:{self.port} logged last:\n{self._log_tail()}")
        self.close()

    def _end(self, how: str) -> None:
        with self._lock:
            if self.is_running:
                self.pid = 0
                self._ask(how)

    def _ask(self, command: str, **arguments: object) -> dict[str, Any]:
        assert self._keeper is not None
        try:
            return self._keeper.ask(command, name=self._name, **arguments)
        except KeeperError as error:
            raise BrokerFailed(f"{error}\nthe broker's log:\n{self._log_tail()}") from None

    def _log_tail(self) -> str:
        text = "" if self._directory is None else self.log_text()
        return "\n".join(text.splitlines()[-LOG_LINES_SHOWN:]) or "(nothing)"


def setting_text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
