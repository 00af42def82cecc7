"""What a forked node does: its log to a file, a node on its directory, the port told to the keeper, then serve."""

import json
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Never

from tidelog.config import ConfigError, sum_up
from tidelog.io.development import DevelopmentNode, development_config, format_if_new
from tidelog.io.log_format import set_up_logging
from tidelog.io.run import Runner, raise_descriptor_limit, stop_on_signals
from tidelog.server.node.phase import Phase

FAILED = 1
ORPHAN_S_MAX = 5
# A test waits for its first assignment, not for other members that will never come.
TEST_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}

log = logging.getLogger("tidelog")


def run_node(link: socket.socket, directory: Path, question: dict[str, Any]) -> Never:
    """Run a node in a forked process. Never returns into the keeper's code, whatever happens: what follows there is not
    the node's business."""
    code = FAILED
    orphaned = threading.Event()
    try:
        _redirect(directory / "node.log")
        threading.Thread(target=_end_with_keeper, args=(link, orphaned), daemon=True).start()
        _serve(link, directory / "data", question)
        code = 0
    except ConfigError as error:
        _tell(link, error=str(error))
    except Exception as error:  # noqa: BLE001 (the process ends here; the test is told, the log has the stack)
        traceback.print_exc()
        _tell(link, error=f"{type(error).__name__}: {error}")
    finally:
        sys.stderr.flush()
        if orphaned.is_set():
            shutil.rmtree(directory, ignore_errors=True)
        os._exit(code)


def _redirect(log: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(nothing)
    os.close(file)
    set_up_logging(False)


def _end_with_keeper(link: socket.socket, orphaned: threading.Event) -> None:
    """Stop when the keeper was killed, and have the node remove its directory: a killed keeper removes nothing."""
    link.recv(1)  # the keeper never writes: this returns when it is gone
    orphaned.set()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_S_MAX)
    os.kill(os.getpid(), signal.SIGKILL)


def _serve(link: socket.socket, data: Path, question: dict[str, Any]) -> None:
    node = DevelopmentNode(
        str(data), question["host"], question["port"], overrides={**TEST_SETTINGS, **question["settings"]}
    )
    loaded = development_config(node, "tidelog.testing")
    for line in sum_up(loaded.warnings):
        log.warning("%s", line)
    config = loaded.config
    format_if_new(config)
    raise_descriptor_limit()
    runner = Runner(config)
    stop_on_signals(runner.stop)
    try:
        runner.listen()
        runner.start()
        runner.run_until(Phase.RUNNING)
        runner.begin_to_serve()
        _tell(link, port=runner.bound["PLAINTEXT"].port)
        runner.serve()
    finally:
        runner.close()


def _tell(link: socket.socket, **fields: object) -> None:
    link.sendall(json.dumps(fields).encode())
