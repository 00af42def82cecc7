"""Transactions that the coordinator is being asked about before their first batch may be written.

Without this a batch that was delayed on the network could open, after its transaction ended, one that nobody will ever
end (KIP-890). A guard is made when the question is asked and must come back with the append. It is an object, compared
by identity: an answer to an older question can not be mistaken for the answer to this one.
"""

from dataclasses import dataclass, field


class VerificationGuard:
    """One question to the transaction coordinator, known by its identity."""

    __slots__ = ()


@dataclass(slots=True)
class Verification:
    started_ms: int
    producer_epoch: int
    lowest_sequence: int
    supports_epoch_bump: bool  # transaction version 2: every transaction has an epoch of its own
    guard: VerificationGuard = field(default_factory=VerificationGuard)

    def note(self, sequence: int, producer_epoch: int) -> None:
        """Note that another batch asks. Until the lowest sequence is written no higher one may be: it would make the
        lower one out of order for ever. A new epoch starts anew."""
        if producer_epoch > self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.lowest_sequence = sequence
        elif producer_epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)
