"""The metadata being written: replays records, reads like an image, and freezes into images.

The one replay of the project. The controller keeps its durable state in a draft and replays what it has decided; a
broker replays what the quorum has committed, freezes once a turn and applies the changes.
"""

from typing import Any

from tidelog.metadata.changes import Changes
from tidelog.metadata.draft_state import DraftState
from tidelog.metadata.errors import InconsistentRecord, UnplayableRecord
from tidelog.metadata.image import MetadataImage, Provenance, empty_image
from tidelog.metadata.records.transactions import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from tidelog.metadata.replay import REPLAY
from tidelog.metadata.topics import Topics

_TRANSACTION_RECORDS = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


class MetadataDraft(DraftState):
    """The metadata at one moment of the replay. It starts where the image stands (from nothing without one).

    Read it like an image: `draft.topics.by_name`, `draft.brokers`, ... (MetadataView). What was read is as of then:
    look it up again after a replay or a freeze.

    `tracks_changes` makes it remember what changed until `take_changes` asks. It is off unless asked for: a draft whose
    changes nobody takes would grow for ever.
    """

    def __init__(self, image: MetadataImage | None = None, *, tracks_changes: bool = False) -> None:
        super().__init__(image or empty_image(), Changes() if tracks_changes else None)
        self._transaction: list[Any] | None = None

    @property
    def in_transaction(self) -> bool:
        """Tell whether the last record lies between BeginTransactionRecord and its end. What the transaction brought is
        not to be seen yet, and no image can be frozen here: a snapshot would end within the transaction."""
        return self._transaction is not None

    def replay(self, message: Any) -> None:
        """Take over one record. Raises MetadataError when it is not to be understood: this node must not go on, nor use
        the draft."""
        if self._transaction is not None or type(message) in _TRANSACTION_RECORDS:
            self._replay_transactional(message)
        else:
            self._replay_now(message)

    def freeze(self, offset: int, epoch: int, timestamp_ms: int) -> MetadataImage:
        """Return the image of now, whose last record is the one named. Costs the same however large the cluster is; the
        draft can go on, and copies what it then writes to."""
        if self._transaction is not None:
            raise ValueError("within a metadata transaction there is no image to freeze: see in_transaction")
        self.owner = object()
        return MetadataImage(
            Provenance(offset, epoch, timestamp_ms),
            Topics(self.topics.by_id, self.topics.by_name),
            self.brokers,
            self.controllers,
            self.configs,
            self.features,
            self.next_producer_id,
            self.client_quotas,
            self.acls,
            self.scram_credentials,
            self.delegation_tokens,
        )

    def take_changes(self) -> Changes:
        """Return what has changed since the last call."""
        if self.changes is None:
            raise ValueError("this draft does not track changes: MetadataDraft(image, tracks_changes=True)")
        taken, self.changes = self.changes, Changes()
        return taken

    def _replay_now(self, message: Any) -> None:
        replay = REPLAY.get(type(message))
        if replay is None:
            raise UnplayableRecord(message)
        replay(self, message)

    def _replay_transactional(self, message: Any) -> None:
        """Keep the records until the transaction ends; the controller writes few of them, and only at its start."""
        pending = self._transaction
        if isinstance(message, BeginTransactionRecord):
            if pending is not None:
                raise InconsistentRecord(message, "a metadata transaction is already under way")
            self._transaction = []
        elif pending is None:
            raise InconsistentRecord(message, "there is no metadata transaction to end")
        elif isinstance(message, (EndTransactionRecord, AbortTransactionRecord)):
            self._transaction = None
            for each in pending if isinstance(message, EndTransactionRecord) else ():
                self._replay_now(each)
        elif type(message) not in REPLAY:
            raise UnplayableRecord(message)
        else:
            pending.append(message)
