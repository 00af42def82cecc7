"""How far a group is, by partition: what it has committed, where the log ends, who reads it, and how fast both move.

The lag of a partition is the number of offsets from the committed one to the end. How long the group would take to
catch up follows from two looks at it, an interval apart, if it goes on as in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.cli.arguments.durations import shown_duration
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.groups import GroupDescription, MemberDescription
from tidelog.client.admin.offsets import OffsetSpec
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition

CAUGHT_UP = "caught up"
NEVER_STOPPED = "never: not moving"
NEVER_SLOWER = "never: production is faster"
NEVER_EVEN = "never: production is as fast"


@dataclass(slots=True)
class Progress:
    """How far a group is in one partition. `end` None: the topic is gone. `committed` None: nothing is committed."""

    partition: TopicPartition
    committed: int | None
    end: int | None
    metadata: str = ""
    member: MemberDescription | None = None

    @property
    def lag(self) -> int | None:
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


def progress(admin: Admin, group: GroupDescription, topics: Sequence[str] = ()) -> list[Progress]:
    """Return the progress in every partition that the group has committed to or that one of its members reads."""
    committed = admin.list_group_offsets(group.group_id)
    readers = {topic_partition: member for member in group.members for topic_partition in member.assignment}
    topic_partitions = sorted(
        topic_partition for topic_partition in {**committed, **readers} if not topics or topic_partition.topic in topics
    )
    ends = end_offsets(admin, topic_partitions)
    return [
        Progress(
            topic_partition,
            committed[topic_partition].offset if topic_partition in committed else None,
            ends.get(topic_partition),
            committed[topic_partition].metadata if topic_partition in committed else "",
            readers.get(topic_partition),
        )
        for topic_partition in topic_partitions
    ]


def end_offsets(admin: Admin, topic_partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the ends of the partitions. Those of topics that are gone are left out."""
    found = admin.list_offsets(dict.fromkeys(topic_partitions, OffsetSpec.LATEST)) if topic_partitions else {}
    return {
        topic_partition: each.offset for topic_partition, each in found.items() if not isinstance(each, ClientError)
    }


def lag_row(group_id: str, now: Progress, before: Progress | None, seconds: float) -> dict[str, Any]:
    """Return the row of one partition. The rates come from `before`, which is `seconds` old; None: they are not
    known."""
    consumed = _rate(before.committed if before else None, now.committed, seconds)
    produced = _rate(before.end if before else None, now.end, seconds)
    remaining_s, text = catch_up(now.lag, consumed, produced)
    return {
        "group": group_id,
        "topic": now.partition.topic,
        "partition": now.partition.partition,
        "committed": now.committed,
        "end": now.end,
        "lag": now.lag,
        "consumed_per_s": consumed,
        "produced_per_s": produced,
        "catch_up_s": remaining_s,
        "catch_up": text,
        "client_id": now.member.client_id if now.member else None,
        "host": now.member.host if now.member else None,
    }


def total_row(group_id: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of the whole group, which has caught up when its last partition has."""
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    waits = [row["catch_up_s"] for row in rows if row["lag"]]
    is_known = bool(rows) and rows[0]["consumed_per_s"] is not None
    longest = max(waits, default=0.0) if is_known and None not in waits else None
    nevers = [row["catch_up"] for row in rows if row["lag"] and row["catch_up_s"] is None and row["catch_up"]]
    text = CAUGHT_UP if not sum(lags) else nevers[0] if nevers else None if longest is None else shown_duration(longest)
    return {
        "group": group_id,
        "lag": sum(lags),
        "consumed_per_s": _sum(rows, "consumed_per_s"),
        "produced_per_s": _sum(rows, "produced_per_s"),
        "catch_up_s": longest,
        "catch_up": text,
    }


def catch_up(lag: int | None, consumed: float | None, produced: float | None) -> tuple[float | None, str | None]:
    """Return how long it takes to catch up, in seconds and in words. None: that cannot be told."""
    if lag is None:
        return None, None
    if lag == 0:
        return 0.0, CAUGHT_UP
    if consumed is None or produced is None:
        return None, None
    gained = consumed - produced
    if gained > 0:
        return round(lag / gained, 1), shown_duration(lag / gained)
    if not consumed:
        return None, NEVER_STOPPED
    return None, NEVER_SLOWER if gained else NEVER_EVEN


def _rate(before: int | None, now: int | None, seconds: float) -> float | None:
    if before is None or now is None or seconds <= 0:
        return None
    return round(max(0, now - before) / seconds, 1)


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return round(sum(values), 1) if values else None
