"""`tidelog consume --group`: as a member of a group, with offsets committed for what was written out, and no more.

An offset is committed when its record has been handed on: a reader that is interrupted, or whose pipe breaks, gets
again what it did not see.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import IO, Final

from tidelog.cli.arguments.offset_arguments import BEGINNING, END
from tidelog.cli.consume.topics import ChosenTopics
from tidelog.cli.failing import WrongUsage
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.group.consumer import GroupConsumer
from tidelog.client.record import EARLIEST, LATEST, ConsumerRecord
from tidelog.model.ids import TopicPartition

GROUP_POLL_MS: Final = 500
POLL_RECORDS: Final = 500
COMMIT_MS: Final = 5_000
STABLE: Final = "Stable"


class GroupReader:
    def __init__(
        self,
        client: Client,
        options: argparse.Namespace,
        isolation: str,
        output: IO[bytes],
        topics: ChosenTopics,
        is_ending: Callable[[], bool],
    ) -> None:
        """Prepare to join. `is_ending` is asked between two records, and between two polls."""
        self._client = client
        self._topics = topics
        self._options = options
        self._output = output
        self._is_ending = is_ending
        self._done: dict[TopicPartition, int] = {}  # the next offset of each partition, not committed yet
        self._commit_at_ms = client.now_ms() + COMMIT_MS
        self._consumer = GroupConsumer(
            client,
            options.group,
            start=_start(options),
            auto_commit_ms=None,
            on_revoked=lambda _: self._commit(),
            isolation=isolation,
        )

    def run(self, write: Callable[[ConsumerRecord], None]) -> None:
        self._subscribe()
        try:
            for record in self._records():
                write(record)
                self._done[TopicPartition(record.topic, record.partition)] = record.offset + 1
                if self._is_ending():
                    break
        finally:
            self._output.flush()
            self._commit()
            self._consumer.close()

    def _subscribe(self) -> None:
        if self._topics.names:
            self._consumer.subscribe(self._topics.names)

    def _records(self) -> Iterator[ConsumerRecord]:
        left: int | None = self._options.count
        ends: dict[TopicPartition, int] | None = None
        while (left is None or left > 0) and not self._is_ending():
            if self._topics.new():
                self._subscribe()
            records = self._consumer.poll(GROUP_POLL_MS, POLL_RECORDS if left is None else min(left, POLL_RECORDS))
            yield from records
            left = None if left is None else left - len(records)
            self._output.flush()  # whoever reads us sees a record when it comes
            self._commit_now_and_then()
            if self._options.exit and (ends is not None or self._has_its_share()):
                ends = self._consumer.end_offsets(self._consumer.assignment) if ends is None else ends
                if self._is_at_end(ends):
                    return

    def _has_its_share(self) -> bool:
        """Tell whether the group is stable and this member has its share: the coordinator takes its time to assign, so
        a member that has nothing may yet get something."""
        if not self._consumer.is_reconciled:
            return False
        group = Admin(self._client).describe_group(self._options.group)
        mine = [each.assignment for each in group.members if each.member_id == self._consumer.group_metadata.member_id]
        return group.state == STABLE and mine == [sorted(self._consumer.assignment)]

    def _is_at_end(self, ends: dict[TopicPartition, int]) -> bool:
        positions = self._consumer.positions()
        return all(
            positions[topic_partition] >= end for topic_partition, end in ends.items() if topic_partition in positions
        )

    def _commit_now_and_then(self) -> None:
        if self._client.now_ms() >= self._commit_at_ms:
            self._commit_at_ms = self._client.now_ms() + COMMIT_MS
            self._commit()

    def _commit(self) -> None:
        """Commit the offsets of partitions that are still ours: the others were committed when they went, or are
        another member's to read again."""
        done, self._done = self._done, {}
        owned = {
            topic_partition: offset
            for topic_partition, offset in done.items()
            if topic_partition in self._consumer.assignment
        }
        self._consumer.commit(owned)


def _start(options: argparse.Namespace) -> int:
    """Return where to begin in partitions of which the group has committed nothing."""
    start = options.start or (BEGINNING if options.exit else END)
    if start not in (BEGINNING, END):
        raise WrongUsage("--from is beginning or end with --group: it counts where the group has committed nothing")
    return EARLIEST if start == BEGINNING else LATEST
