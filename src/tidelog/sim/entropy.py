"""Chance from a seed."""

from random import Random


def stream(seed: int, name: str) -> Random:
    """Return an independent random stream. Seeding with text goes through SHA-512, so PYTHONHASHSEED has no say in
    it."""
    return Random(f"{seed}/{name}")


class SimEntropy:
    def __init__(self, seed: int, name: str = "entropy") -> None:
        self._random = stream(seed, name)

    def random_bytes(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def random_below(self, bound: int) -> int:
        return self._random.randrange(bound)
