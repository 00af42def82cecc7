"""The operating system's chance; the same source for jitter and for secrets, since neither is asked for often."""

import os


class SystemEntropy:
    def random_bytes(self, size: int) -> bytes:
        return os.urandom(size)

    def random_below(self, bound: int) -> int:
        """Draw a number below `bound`, each as likely as any other: as many bits as `bound` needs, again where the
        number is too large. (`secrets` does the same, but imports OpenSSL.)"""
        if bound <= 0:
            raise ValueError(f"a random number below {bound}")
        bits = (bound - 1).bit_length()
        while True:
            drawn = int.from_bytes(os.urandom((bits + 7) // 8)) >> (-bits % 8)
            if drawn < bound:
                return drawn
