"""The topics that the job reads and writes: made where they are missing. Results are compacted, because the last value
of a key is the truth. Events have the broker's time.

Whether an event is late, or from the future, is its own time against its record's. A producer that writes both takes
its own clock as the measure, and an hour of error in it would move Spark's watermark past everybody else's events. So
the record's time has to be the broker's (`LogAppendTime`), and topics that have another are refused, unless somebody
says that their producers are to be believed.
"""

from collections.abc import Sequence
from typing import Final

from pyspark_tidelog.kafka.settings import cluster_options
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog_pipelines.ecommerce.settings import Settings
from tidelog_pipelines.traffic.sending import BROKERS_TIME, PRODUCERS_TIME, TIME
from tidelog_pipelines.traffic.sending import create_topics as create_event_topics

COMPACTED: Final = {"cleanup.policy": "compact"}
# There are a few windows a minute: one partition holds them, and one transaction a batch writes to few partitions.
RESULT_PARTITIONS: Final = 1


def ensure_topics(settings: Settings, results: Sequence[str]) -> None:
    """Create the topics of the results, and those of the events too, so that the job may be started before its
    traffic."""
    with cluster_options(settings.cluster).connect() as client:
        time = PRODUCERS_TIME if settings.believes_producers else BROKERS_TIME
        create_event_topics(client, settings.events_prefix, time=time)
        if not settings.believes_producers:
            _require_brokers_time(client, settings.topics.all)
        names = [settings.results_prefix + result for result in results]
        wanted = [NewTopic(name, RESULT_PARTITIONS, configs=COMPACTED) for name in names]
        _create(client, [*wanted, NewTopic(settings.dead_letters, RESULT_PARTITIONS)])


def _require_brokers_time(client: Client, topics: Sequence[str]) -> None:
    for topic in topics:
        found = Admin(client).describe_configs(ResourceType.TOPIC, topic, [TIME])[TIME].value
        if found != BROKERS_TIME:
            problem = (
                f"its records have their producers' times ({TIME}={found}), and one wrong clock spoils all results"
            )
            step = (
                f"tidelog configs set --topic {topic} {TIME}={BROKERS_TIME}, or start with --producer-times "
                "where the traffic is generated or replayed"
            )
            raise ClientError(ErrorCode.INVALID_CONFIG, f"count the events of {topic}", client.name, problem, step)


def _create(client: Client, topics: Sequence[NewTopic]) -> None:
    for outcome in Admin(client).create_topics(topics).values():
        if isinstance(outcome, ClientError) and outcome.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise outcome
