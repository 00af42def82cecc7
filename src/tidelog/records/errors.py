"""What can be wrong with record bytes. One type for each kind of damage, so that a caller can tell a flipped bit on the
wire (retry) from a batch that was never valid (refuse), and each carries the base offset of the batch: it is the
first thing that an operator needs.

The base offset is read from the damaged batch itself. It lies outside the checksum, so it is a hint, not a fact.
"""


class RecordError(Exception):
    """Record bytes that cannot be used."""

    def __init__(self, base_offset: int, reason: str) -> None:
        super().__init__(base_offset, reason)
        self.base_offset = base_offset
        self.reason = reason

    def __str__(self) -> str:
        return f"record batch at offset {self.base_offset}: {self.reason}"


class UnsupportedMagicError(RecordError):
    """A message set of format 0 or 1. Kafka 4 no longer reads or writes them, and neither do we."""

    def __init__(self, base_offset: int, magic: int) -> None:
        RecordError.__init__(self, base_offset, f"message format {magic} is not supported, only 2 is")
        self.args = (base_offset, magic)
        self.magic = magic


class DecompressedSizeError(RecordError):
    """A batch that would inflate beyond the limit of the caller."""

    def __init__(self, base_offset: int, limit_bytes: int) -> None:
        RecordError.__init__(self, base_offset, f"inflates to more than the limit of {limit_bytes} bytes")
        self.args = (base_offset, limit_bytes)
        self.limit_bytes = limit_bytes


class BufferTooLargeError(RecordError):
    """A buffer that needs positions of more than the 32 bits that they have here, as Arrow's offsets do."""


class TimestampRangeError(RecordError):
    """A timestamp that the batch can carry and the wanted unit cannot (microseconds of a time far away)."""


class CorruptRecordError(RecordError):
    """Record bytes that contradict the format or themselves."""


class CorruptRecordMagicError(CorruptRecordError):
    """A batch of a format that never existed."""


class CorruptRecordCrcError(CorruptRecordError):
    """A checksum that does not match the bytes."""


class CorruptRecordLengthError(CorruptRecordError):
    """A length that is negative, below the minimum, beyond what surrounds it, or not what the content takes up."""


class CorruptRecordCountError(CorruptRecordError):
    """A number of records or headers that the bytes cannot hold, or that leaves bytes over."""


class CorruptRecordVarintError(CorruptRecordError):
    """A variable-length integer that does not end within 5 bytes (32 bits) or 10 bytes (64 bits)."""


class CorruptRecordOffsetError(CorruptRecordError):
    """Offsets that do not increase, leave the range that the batch claims, or overflow."""


class CorruptRecordTimestampError(CorruptRecordError):
    """A timestamp beyond 64 bits."""


class CorruptRecordCompressionError(CorruptRecordError):
    """An unknown codec, or data that its codec refuses."""


class CorruptRecordControlError(CorruptRecordError):
    """A control record whose key or value is not what its type demands."""


class ColumnError(ValueError):
    """Columns that cannot be encoded: buffers too short, offsets that decrease or leave the data, a negative time."""
