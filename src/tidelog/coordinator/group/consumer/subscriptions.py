"""Which topics a group reads and why: counted, so that nobody has to ask every member.

Members subscribe by names, by a regular expression, or both. An expression counts when it has been resolved.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.coordinator.group.consumer.member import ConsumerMember


@dataclass(slots=True)
class ResolvedRegex:
    topics: tuple[str, ...]  # sorted
    version: int  # the offset of the metadata that it was resolved with
    timestamp_ms: int


@dataclass(slots=True)
class Subscriptions:
    by_name: dict[str, int] = field(default_factory=dict)  # members, by topic
    by_regex: dict[str, int] = field(default_factory=dict)  # resolved expressions, by topic
    regexes: dict[str, int] = field(default_factory=dict)  # members, by expression
    resolved: dict[str, ResolvedRegex] = field(default_factory=dict)

    def __contains__(self, topic: str) -> bool:
        return topic in self.by_name or topic in self.by_regex

    @property
    def topics(self) -> dict[str, None]:
        return dict.fromkeys([*self.by_name, *self.by_regex])

    def cover(self, before: ConsumerMember, after: ConsumerMember) -> bool:
        """Tell whether it is plain that the topics stay the same: mostly a member is new, and names topics that others
        have named."""
        is_new = not before.topics and not before.regex
        return is_new and not after.regex and all(topic in self.by_name for topic in after.topics)

    def add(self, member: ConsumerMember) -> None:
        _count(self.by_name, member.topics, 1)
        if member.regex:
            _count(self.regexes, (member.regex,), 1)

    def remove(self, member: ConsumerMember) -> None:
        _count(self.by_name, member.topics, -1)
        if member.regex:
            _count(self.regexes, (member.regex,), -1)

    def resolve(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """Set the topics that an expression matches. None: no member has the expression any more."""
        before = self.resolved.pop(regex, None)
        if before is not None:
            _count(self.by_regex, before.topics, -1)
        if resolved is not None:
            self.resolved[regex] = resolved
            _count(self.by_regex, resolved.topics, 1)

    def after(self, before: Iterable[ConsumerMember], after: Iterable[ConsumerMember]) -> "Subscriptions":
        """Return the subscriptions once members have changed. An expression that its last member gave up matches
        nothing."""
        changed = Subscriptions(dict(self.by_name), dict(self.by_regex), dict(self.regexes), dict(self.resolved))
        for member in before:
            changed.remove(member)
        for member in after:
            changed.add(member)
        for regex in self.regexes:
            if regex not in changed.regexes:
                changed.resolve(regex, None)
        return changed

    def is_homogeneous(self, member_count: int) -> bool:
        """Tell whether every member reads the same topics, as far as counts tell; this lets an assignor take a short
        cut."""
        if not self.regexes:
            return all(count == member_count for count in self.by_name.values())
        only = next(iter(self.regexes.values()))
        return only == member_count and not self.by_name and all(count == 1 for count in self.by_regex.values())


def _count(counts: dict[str, int], keys: Iterable[str], by: int) -> None:
    for key in keys:
        count = counts.get(key, 0) + by
        if count:
            counts[key] = count
        else:
            del counts[key]
