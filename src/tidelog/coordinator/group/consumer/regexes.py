"""Subscriptions by regular expression: when they are matched with the topics that there are, and what comes of it.

A heartbeat only notices that it has to be done; a timer for now does it, because it looks at every topic. All
expressions of a group are resolved together, so that new topics make one rebalance and not one each; and not more often
than every ten seconds.
"""

from collections.abc import Generator
from enum import Enum
from typing import Any, Final

from tidelog.config.settings import groups as settings
from tidelog.coordinator.group.consumer.change import REBALANCES, MemberChange
from tidelog.coordinator.group.consumer.group import REFRESH_INTERVAL_MS, ConsumerGroup
from tidelog.coordinator.group.consumer.records import epoch_record, regex_record, regex_tombstone
from tidelog.coordinator.group.consumer.subscriptions import ResolvedRegex
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.group.subscription_regex import InvalidRegex, compile_regex, matching_topics
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ApiError, ErrorCode

RESOLVE: Final = "consumer-regex"
REFRESH_MIN_INTERVAL_MS: Final = 10_000
# Matched between two yields: about a millisecond of work.
TOPICS_A_SLICE: Final = 1_000


class RegexChange(Enum):
    NONE = "none"
    UNRESOLVED = "unresolved"  # another expression, whose topics are not known yet
    RESOLVED = "resolved"  # another expression, or none, and the group's topics are known


def update(change: MemberChange) -> RegexChange:
    """Return what a member's new expression means for the group. Sets a timer as well where it is time to resolve the
    group's expressions."""
    before, after = change.member.regex or "", change.updated.regex or ""
    subscriptions = change.group.subscriptions
    status = RegexChange.NONE
    is_new = False
    if change.member.regex != change.updated.regex:
        if before and subscriptions.regexes.get(before) == 1:
            change.records.append(regex_tombstone(change.group.group_id, before))
        is_new = bool(after) and after not in subscriptions.regexes
        if is_new:
            check_regex(after)
        is_known = after in subscriptions.resolved if after else bool(before)
        status = RegexChange.RESOLVED if is_known and not is_new else RegexChange.UNRESOLVED
    if (is_new or subscriptions.regexes) and _is_due(change, before, after, is_new=is_new):
        change.shard.timers.set((RESOLVE, change.group.group_id), change.now_ms)
    return status


def check_regex(regex: str) -> None:
    try:
        compile_regex(regex)
    except InvalidRegex as reason:
        message = f"the regular expression {regex!r} is not a valid one: {reason}"
        raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from None


def _is_due(change: MemberChange, before: str, after: str, *, is_new: bool) -> bool:
    group, shard = change.group, change.shard
    if (RESOLVE, group.group_id) in shard.timers:
        return False
    last = next(iter(group.subscriptions.resolved.values()), None)
    # A last time that lies ahead means that a clock was set back: then it counts as old, or it would be waited for.
    age_ms = None if last is None else change.wall_ms - last.timestamp_ms
    if age_ms is not None and 0 <= age_ms <= REFRESH_MIN_INTERVAL_MS:
        return False
    subscribed = _subscribed_after(group, before, after)
    interval_ms = shard.config.get(settings.GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS)
    return bool(subscribed) and (
        is_new
        or last is None
        or age_ms is None
        or len(subscribed) != len(group.subscriptions.resolved)
        or last.version < (shard.topic_hashes.new_topics_offset or 0)
        or not 0 <= age_ms <= interval_ms
    )


def _subscribed_after(group: ConsumerGroup, before: str, after: str) -> dict[str, int]:
    counts = dict(group.subscriptions.regexes)
    if before in counts:
        counts[before] -= 1
    if after:
        counts[after] = counts.get(after, 0) + 1
    return {regex: count for regex, count in counts.items() if count > 0}


def resolve(shard: GroupShard, now_ms: int, wall_ms: int, key: Any) -> Generator[None, None, Result]:
    """Match all expressions of a group with all topics, when the timer is due."""
    group = shard.groups.get(key[1])
    if not isinstance(group, ConsumerGroup):
        return Result([], None)
    version = shard.image.provenance.offset
    names = sorted(shard.image.topics.by_name)
    found: dict[str, ResolvedRegex] = {}
    for regex in group.subscriptions.regexes:
        topics = yield from _matching(names, regex)
        found[regex] = ResolvedRegex(tuple(topics), version, wall_ms)
    return Result(_resolved_records(shard, now_ms, group, found), None)


def _matching(names: list[str], regex: str) -> Generator[None, None, list[str]]:
    try:
        matcher = compile_regex(regex)
    except InvalidRegex:
        return []  # valid to the coordinator that accepted it, but not to this one: it matches nothing
    topics: list[str] = []
    for start in range(0, len(names), TOPICS_A_SLICE):
        topics += matching_topics(names[start : start + TOPICS_A_SLICE], matcher)
        yield
    return topics


def _resolved_records(
    shard: GroupShard, now_ms: int, group: ConsumerGroup, found: dict[str, ResolvedRegex]
) -> list[Record]:
    """Return a record for each expression, for its time and version; the group epoch moves only where topics have come
    or gone."""
    records = [regex_record(group.group_id, regex, resolved) for regex, resolved in found.items()]
    after = group.subscriptions.after((), ())
    has_changed = False
    for regex, resolved in found.items():
        last = group.subscriptions.resolved.get(regex)
        has_changed |= (last.topics if last is not None else ()) != resolved.topics
        after.resolve(regex, resolved)
    metadata_hash = shard.topic_hashes.group_hash(shard.image, after.topics)
    if has_changed or metadata_hash != group.metadata_hash:
        records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash))
        shard.count(REBALANCES)
        group.refresh_due_ms = now_ms + REFRESH_INTERVAL_MS
        group.refreshed_epoch = group.epoch + 1
    return records
