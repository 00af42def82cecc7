"""Balancing members that share topics in different ways.

A member can hand a partition on to any subscriber of its topic, who can hand on one of another topic instead, and so
on: a chain. It makes the group more balanced when the member at its end has at least two partitions fewer than the one
at its start, and an assignment is as balanced as it can be exactly when there is no such chain (an optimal
semi-matching, Harvey and others 2003: no other assignment has a smaller sum of squared loads, or a smaller greatest
load).

So: take the most loaded member, follow the shortest chain to a member that has two fewer, and pass one along. When
there is none, all members within its reach are as loaded as it is, or by one less: they are done, with all that they
hold, and nobody with a smaller load will find anything there. So everything is looked at in vain once at most.
"""

from heapq import heapify, heappop, heappush
from itertools import chain


class Loads:
    """How many partitions of each topic each member holds. Members and topics go by number."""

    __slots__ = ("_first", "_is_done", "_kept", "held", "load", "subscribers")

    def __init__(self, subscribers: list[list[int]], kept: list[dict[int, int]]) -> None:
        self.subscribers = subscribers  # by topic
        self.held = [dict(each) for each in kept]  # by member and topic; topics of which a member holds none are absent
        self.load = [sum(each.values()) for each in kept]
        self._kept = kept  # what each member had before, which is moved last
        self._is_done = [False] * len(kept)
        self._first = [0] * len(subscribers)  # by topic: where to begin to look among its subscribers

    def add(self, member: int, topic: int) -> None:
        held = self.held[member]
        held[topic] = held.get(topic, 0) + 1
        self.load[member] += 1

    def remove(self, member: int, topic: int) -> None:
        held = self.held[member]
        held[topic] -= 1
        if not held[topic]:
            del held[topic]
        self.load[member] -= 1

    def balance(self) -> None:
        """Pass partitions on until the loads are as balanced as they can be."""
        most = [(-load, member) for member, load in enumerate(self.load)]
        least = [(load, member) for member, load in enumerate(self.load)]
        heapify(most)
        heapify(least)
        while most:
            load, member = heappop(most)
            if -load != self.load[member] or self._is_done[member]:
                continue  # an outdated entry: its load has changed since
            lowest = self._lowest(least)
            if lowest > self.load[member] - 2:
                return
            end = self._pass_on(member, lowest)
            for changed in () if end is None else (member, end):
                heappush(most, (-self.load[changed], changed))
                heappush(least, (self.load[changed], changed))

    def _lowest(self, least: list[tuple[int, int]]) -> int:
        """Return the lowest load of the members that are not done."""
        while self.load[least[0][1]] != least[0][0] or self._is_done[least[0][1]]:
            heappop(least)
        return least[0][0]

    def _pass_on(self, start: int, lowest: int) -> int | None:
        """Pass one partition along a shortest chain; return the member that has one more now. None: there is no such
        chain, and `start` and all members in its reach are done."""
        came: dict[int, tuple[int, int]] = {start: (start, -1)}  # by member reached: from whom, with which topic
        seen = [False] * len(self.subscribers)
        level = [start]
        while level:
            level = self._next_level(level, lowest, came, seen)
            end = min(level, key=self.load.__getitem__, default=start)
            if self.load[end] <= self.load[start] - 2:
                self._move_along(came, end)
                return end
        for member in came:
            self._is_done[member] = True
        return None

    def _next_level(
        self, level: list[int], lowest: int, came: dict[int, tuple[int, int]], seen: list[bool]
    ) -> list[int]:
        """Return the members that can get a partition from one of `level`. The search ends with the first that has the
        lowest load."""
        reached: list[int] = []
        for member in level:
            for topic in self._giveable(member):
                if not seen[topic]:
                    seen[topic] = True
                    if self._reach((member, topic), lowest, came, reached):
                        return reached
        return reached

    def _giveable(self, member: int) -> list[int]:
        """Return the topics that the member can hand on; first those of which it has more than before, because moving a
        new partition costs nothing."""
        held, kept = self.held[member], self._kept[member]
        return sorted(held, key=lambda topic: held[topic] <= kept.get(topic, 0))

    def _reach(self, step: tuple[int, int], lowest: int, came: dict[int, tuple[int, int]], reached: list[int]) -> bool:
        """Add the subscribers of a topic to those reached; return whether one with the lowest load was found. The
        search begins where it last found one: the subscribers before it have been filled up."""
        load, is_done = self.load, self._is_done
        topic = step[1]
        subscribers = self.subscribers[topic]
        first = self._first[topic]
        for index in chain(range(first, len(subscribers)), range(first)):
            other = subscribers[index]
            if other not in came and not is_done[other]:
                came[other] = step
                reached.append(other)
                if load[other] == lowest:
                    self._first[topic] = index
                    return True
        return False

    def _move_along(self, came: dict[int, tuple[int, int]], end: int) -> None:
        taker = end
        giver, topic = came[taker]
        while topic >= 0:
            self.remove(giver, topic)
            self.add(taker, topic)
            taker = giver
            giver, topic = came[taker]
