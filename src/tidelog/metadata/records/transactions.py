"""Records about the log itself: what takes effect only as a whole, and what only shows that the log is alive."""

from tidelog.protocol.schema import field, record, string


@record("metadata", api_key=23, versions="0", flexible="0+")
class BeginTransactionRecord:
    """What follows takes effect only with the EndTransactionRecord: more records than fit in one batch."""

    name: string | None = field(nullable="0+", tag=0, default=None)


@record("metadata", api_key=24, versions="0", flexible="0+")
class EndTransactionRecord:
    """What came since BeginTransactionRecord takes effect."""


@record("metadata", api_key=25, versions="0", flexible="0+")
class AbortTransactionRecord:
    """What came since BeginTransactionRecord is dropped."""

    reason: string | None = field(nullable="0+", tag=0, default=None)


@record("metadata", api_key=20, versions="0", flexible="0+")
class NoOpRecord:
    """Nothing happened: the active controller moves the high watermark on."""
