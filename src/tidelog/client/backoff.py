"""How long to wait before the next try: doubling, to a limit, with jitter so that clients do not come back in step."""

from typing import Final

from tidelog.ports.entropy import Entropy

FIRST_MS: Final = 50
LAST_MS: Final = 1_000
_JITTER_PERCENT: Final = 20


class Backoff:
    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._failures = 0

    def next_ms(self) -> int:
        plain = min(LAST_MS, FIRST_MS << min(self._failures, 10))
        self._failures += 1
        return plain * (100 - _JITTER_PERCENT + self._entropy.random_below(2 * _JITTER_PERCENT + 1)) // 100

    def reset(self) -> None:
        self._failures = 0
