"""The exit codes of every command, and the text about them that each help ends with: scripts may trust them."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130  # as a shell counts a process that was ended by Ctrl-C
BROKEN_PIPE: Final = 141  # and one whose reader has gone away, as `head` does

EXIT_CODES: Final = """\
exit codes:
  0  done
  1  it failed, and standard error says why
  2  the command line is wrong, or a file that it names
"""
