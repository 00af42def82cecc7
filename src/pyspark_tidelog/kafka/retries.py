"""Retries of requests that fail for a while only: leaders that move, brokers that die, coordinators that load.

The client has retries of its own, but silent ones: a query that stands still for a minute has to say what it waits for.
So each round here is one try of the client, and its error is logged: the first, the second, the fourth, ...
"""

import logging
from typing import Final

from tidelog.client.backoff import Backoff
from tidelog.client.client import Client
from tidelog.client.errors import ClientError

LOGGER: Final = logging.getLogger("pyspark_tidelog")


class Retries:
    """The retries of one question to the cluster, with a common time limit. `doing`: the question, in the user's
    words."""

    def __init__(self, client: Client, doing: str) -> None:
        self._client = client
        self._doing = doing
        self._backoff = Backoff(client.world.entropy)
        self._give_up_ms = client.now_ms() + client.retry_timeout_ms
        self._count = 0

    def wait(self, error: ClientError) -> None:
        """Wait until the next try is due. Raise the error where another try would not help, or time is up."""
        left_ms = self._give_up_ms - self._client.now_ms()
        if not error.is_retriable or left_ms <= 0:
            raise error
        self._count += 1
        if self._count & (self._count - 1) == 0:
            text = "%s: %s; trying again (try %d, for %d s more)"
            LOGGER.warning(text, self._doing, error, self._count + 1, -(-left_ms // 1000))
        self._client.pause(self._backoff.next_ms())
