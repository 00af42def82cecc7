"""How another thread, or a signal, ends a wait for sockets: a byte in a pipe that is waited for as well."""

import os
import threading


class WakePipe:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant, because a signal handler may run while the lock is held
        self.descriptor, self._write = os.pipe()  # the end to watch, and to drain when it is readable
        self._is_open = True
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._write, False)

    def wake(self) -> None:
        """End the wait; a full pipe does, too. Once the pipe is closed nobody waits: a helper that comes late must not
        write to whatever has got the descriptor's number since."""
        with self._lock:
            if self._is_open:
                try:
                    os.write(self._write, b"w")
                except BlockingIOError:
                    return

    def drain(self) -> None:
        try:
            os.read(self.descriptor, 4096)
        except BlockingIOError:
            return

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            os.close(self.descriptor)
            os.close(self._write)
