"""Which topics `tidelog consume` reads: those that are named, and those whose names match an expression, also when they
are made later. The expression is RE2's and has to match a name as a whole, as with a group's own subscription; the
cluster's internal topics have to be named.
"""

import argparse
from collections.abc import Sequence
from typing import Final

from tidelog.cli.arguments.topic_arguments import check_names
from tidelog.cli.failing import CommandFailed, WrongUsage, warn
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.coordinator.group.subscription_regex import InvalidRegex, compile_regex, matching_topics

REFRESH_MS: Final = 3_000  # between two looks for topics that were created meanwhile


class ChosenTopics:
    def __init__(self, client: Client, options: argparse.Namespace) -> None:
        self._client = client
        self._include: str | None = options.include
        named = [*options.topics, *options.topic]
        if not named and self._include is None:
            raise WrongUsage("which topic? `tidelog consume TOPIC`, several of them, or --include REGEX")
        try:
            self._matcher = None if self._include is None else compile_regex(self._include)
        except InvalidRegex as error:
            raise WrongUsage(f"--include {self._include}: {error}; it is read as RE2 reads it") from error
        check_names(named, "tidelog consume")
        for name in named:
            client.topic(name)  # a wrong name is an error at once, also where a group would wait for the topic
        self.names = list(dict.fromkeys([*named, *self._matching()]))
        self._refresh_at_ms = client.now_ms() + REFRESH_MS
        if not self.names:
            if options.exit:
                raise CommandFailed(f"no topic matches {self._include}; `tidelog topics list` shows which there are")
            warn(f"no topic matches {self._include} yet; waiting for one")

    def new(self) -> Sequence[str]:
        """Return the topics that match and were not there before. The cluster is asked only every REFRESH_MS, however
        often this is called."""
        if self._matcher is None or self._client.now_ms() < self._refresh_at_ms:
            return ()
        self._refresh_at_ms = self._client.now_ms() + REFRESH_MS
        found = [name for name in self._matching() if name not in self.names]
        self.names += found
        return found

    def _matching(self) -> list[str]:
        if self._matcher is None:
            return []
        return matching_topics((each.name for each in Admin(self._client).list_topics()), self._matcher)
