"""Apache's tools in one JVM (ToolShell.java), for tests that ask many things of one broker."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.interop.apache.jars import java_command

SHELL = Path(__file__).parent / "ToolShell.java"
STOP_SECONDS_MAX = 30

HINT = "The consumer rebalance protocol (KIP-848) is production-ready"  # printed to users of the older protocol
HEADINGS = ("GROUP", "TOPIC", "TransactionalId", "CoordinatorId", "ProducerId", "Topic")  # of a table's first column

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
MESSAGE_COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"


class ToolShell:
    def __init__(self, process: "subprocess.Popen[bytes]", bootstrap: str) -> None:
        self._process = process
        self._bootstrap = bootstrap

    def groups(self, *arguments: str) -> str:
        return self.run(GROUPS, "--bootstrap-server", self._bootstrap, *arguments)

    def transactions(self, *arguments: str) -> str:
        return self.run(TRANSACTIONS, "--bootstrap-server", self._bootstrap, *arguments)

    def consume(self, topic: str, count: int, *arguments: str) -> list[str]:
        """Return the lines of a ConsoleConsumer that ends after `count` records, or ten seconds without one."""
        limits = ("--max-messages", str(count), "--timeout-ms", "10000")
        printed = self.run(
            CONSOLE_CONSUMER, "--bootstrap-server", self._bootstrap, "--topic", topic, *limits, *arguments
        )
        lines = [line for line in printed.splitlines() if HINT not in line]
        assert lines[-1].startswith("Processed a total of"), printed
        return lines[:-1]

    def run(self, main_class: str, *arguments: str) -> str:
        """Run a tool and return what it printed to either stream; fail when the tool fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join((main_class, *arguments)).encode() + b"\n")
        self._process.stdin.flush()
        code, size = self._process.stdout.readline().split()
        printed = self._process.stdout.read(int(size)).decode()
        assert code == b"0", printed
        return printed


@contextmanager
def tool_shell(jars: Path, bootstrap: str) -> Iterator[ToolShell]:
    if shutil.which("javac") is None:
        pytest.skip("APACHE'S TOOLS DID NOT RUN: a program of the tests needs a JDK, this is a JRE")
    command = java_command(jars, str(SHELL))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield ToolShell(process, bootstrap)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(STOP_SECONDS_MAX) == 0
        finally:
            process.kill()


def rows(printed: str) -> list[dict[str, str]]:
    """Return the rows of a table that a tool printed: headings without spaces, one row a line; empty lines and a title
    may come before it."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    start = next(index for index, words in enumerate(lines) if len(words) > 1 and words[0] in HEADINGS)
    heading = lines[start]
    return [dict(zip(heading, words, strict=False)) for words in lines[start + 1 :]]
