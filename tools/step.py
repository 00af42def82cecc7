"""Run one step of an installation, and say what is going on: `python tools/step.py TEXT COMMAND...`.

On a terminal one line counts the seconds. Elsewhere a line says what begins, another every quarter of a minute that it
goes on, and a last one how long it took. What the command prints is shown when it has failed, or has something to say.
It runs on any Python that can make the environment, before there is one: it needs nothing that is installed.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

TICK_S = 0.2
LINE_EVERY_S = 15.0


def main(arguments: Sequence[str]) -> int:
    text, *command = arguments
    began = time.monotonic()
    line = StepLine(text)
    with tempfile.TemporaryFile() as said:
        try:
            with subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT) as process:
                while (code := _wait(process)) is None:
                    line.show(time.monotonic() - began)
        except OSError as error:
            line.end(time.monotonic() - began, has_failed=True)
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
            return 1
        line.end(time.monotonic() - began, has_failed=code != 0)
        said.seek(0)
        sys.stdout.flush()
        sys.stderr.write(said.read().decode(errors="replace"))
    return code


def _wait(process: "subprocess.Popen[bytes]") -> int | None:
    try:
        return process.wait(TICK_S)
    except subprocess.TimeoutExpired:
        return None


class StepLine:
    """The line on the terminal that says what is going on, and for how long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_terminal = sys.stdout.isatty()
        self._due_s = LINE_EVERY_S
        self._write(f"{text} ..." if self._is_terminal else f"{text} ...\n")

    def show(self, seconds: float) -> None:
        if self._is_terminal:
            self._write(f"\r\033[K{self._text} ... {seconds:.0f} s")
        elif seconds >= self._due_s:
            self._due_s += LINE_EVERY_S
            self._write(f"  {seconds:.0f} s\n")

    def end(self, seconds: float, *, has_failed: bool) -> None:
        how = "failed after" if has_failed else "done in"
        self._write(
            f"\r\033[K{self._text}: {how} {seconds:.0f} s\n" if self._is_terminal else f"  {how} {seconds:.0f} s\n"
        )

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
