"""The operating system's chance; the same source for jitter and for secrets, since neither is asked for often."""

import os


class SystemEntropy:
    def random_bytes(self, size: int) -> bytes:
        return os.urandom(size)

    def random_below(self, bound: int) -> int:
        """As many bits as `bound` needs, again where they are too many: every outcome is as likely as any other. (What
        `secrets` does too, but it brings OpenSSL with it.)"""
        if bound <= 0:
            raise ValueError(f"a random number below {bound}")
        bits = (bound - 1).bit_length()
        while True:
            drawn = int.from_bytes(os.urandom((bits + 7) // 8)) >> (-bits % 8)
            if drawn < bound:
                return drawn
