"""How large the table of keys is: never more than the buffer that the settings grant, and no more than is needed.

`log.cleaner.dedupe.buffer.size` is memory that may be used, not memory that has to be: a partition of a thousand dirty
records gets a table for a thousand. (Apache clears all 128 MiB for each, and pays a cache miss for each key.)
"""

from typing import Final

from tidelog.records.kernels_compact import ENTRY_WORDS, OffsetTable

ENTRY_BYTES: Final = 8 * ENTRY_WORDS
_SPACIOUS: Final = 2  # slots a key where memory is no object: one probe finds nearly everything
_SLOTS_MIN: Final = 3


def new_offset_map(buffer_bytes: int, load_factor: float, offsets: int, seed: bytes) -> OffsetTable:
    """Return a table for the keys of at most `offsets` records. Raises ValueError for a buffer in which no key fits."""
    affordable = buffer_bytes // ENTRY_BYTES
    if affordable < _SLOTS_MIN or affordable * load_factor < 1:
        raise ValueError(f"a dedupe buffer of {buffer_bytes} bytes, {load_factor} of it to be used, holds no key")
    slots = largest_prime(min(affordable, max(_SPACIOUS * offsets, _SLOTS_MIN)))
    limit = max(1, min(int(slots * load_factor), slots - 1))
    return OffsetTable(slots, limit, seed)


def largest_prime(bound: int) -> int:
    """The largest prime up to `bound`, which is 2 or more. (Between a number and its half there always is one.)"""
    return next(number for number in range(bound, 1, -1) if _is_prime(number))


def _is_prime(number: int) -> bool:
    if number % 2 == 0:
        return number == 2
    divisor = 3
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 2
    return True
