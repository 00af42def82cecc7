"""Ports for processes that have to be told their port before they start, or that return to it after a kill.

A port that was free a moment ago may be taken by the time that a JVM listens on it, by a client of another test as well
as by another server. So it is held: a socket that is bound and does not listen keeps the system from giving the port to
anybody who does not ask for it by number. A client that connects meanwhile is refused. A server that binds with
SO_REUSEADDR, as our broker and Java do, can listen there beside it, as often as it likes.
"""

import atexit
import socket


def held_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that nobody else is given until this process ends."""
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        atexit.register(holder.close)
    return [int(holder.getsockname()[1]) for holder in holders]
