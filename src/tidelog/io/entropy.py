"""The operating system's chance; the same source for jitter and for secrets, since neither is asked for often."""

import secrets


class SystemEntropy:
    def random_bytes(self, size: int) -> bytes:
        return secrets.token_bytes(size)

    def random_below(self, bound: int) -> int:
        return secrets.randbelow(bound)
