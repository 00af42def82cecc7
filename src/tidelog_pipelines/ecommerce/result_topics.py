"""The topics that the job writes: made where they are missing, compacted where the last value of a key is the truth."""

from collections.abc import Sequence
from typing import Final

from tidelog.client.admin import Admin
from tidelog.client.admin_topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode
from tidelog_pipelines.ecommerce.settings import Settings
from tidelog_pipelines.traffic.sending import create_topics as create_event_topics

COMPACTED: Final = {"cleanup.policy": "compact"}
# There are a few windows a minute: one partition holds them, and one transaction a batch writes to few places.
RESULT_PARTITIONS: Final = 1


def ensure_topics(settings: Settings, results: Sequence[str]) -> None:
    """The topics of the events too, so that the job may be started before its traffic."""
    with Client(settings.bootstrap) as client:
        create_event_topics(client, settings.events_prefix)
        names = [settings.results_prefix + result for result in results]
        wanted = [NewTopic(name, RESULT_PARTITIONS, configs=COMPACTED) for name in names]
        _create(client, [*wanted, NewTopic(settings.dead_letters, RESULT_PARTITIONS)])


def _create(client: Client, topics: Sequence[NewTopic]) -> None:
    for outcome in Admin(client).create_topics(topics).values():
        if isinstance(outcome, ClientError) and outcome.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise outcome
