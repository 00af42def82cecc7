"""One committed offset. Compiled by mypyc: there may be a million of them, and this way the numbers are no objects."""

from typing import Any

from mypy_extensions import i64

NO_EXPIRY = -1
NO_LEADER_EPOCH = -1


class OffsetAndMetadata:
    """One committed offset. `replayed_as` is its place among all commits that were replayed, so in the log: the later
    of two counts, also where the earlier one is only now committed by the end of its transaction."""

    def __init__(
        self,
        offset: i64,
        leader_epoch: i64,
        metadata: str,
        commit_timestamp: i64,
        expire_timestamp: i64,
        topic_id: bytes,
        replayed_as: i64,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch  # -1: not known
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp  # -1: by the broker's retention; only the oldest clients set it
        self.topic_id = topic_id  # zeros: not known
        self.replayed_as = replayed_as

    def printed(self) -> dict[str, Any]:
        return {
            "offset": self.offset,
            "leader_epoch": self.leader_epoch,
            "metadata": self.metadata,
            "commit_timestamp": self.commit_timestamp,
            "expire_timestamp": self.expire_timestamp,
            "topic_id": self.topic_id.hex(),
        }
