"""The stream into a cluster, at the pace of its plan.

Record timestamps are those of the plan, and topics that are made for it keep them (`CreateTime`): the truth goes by
them. Where the cluster is slower than the plan they fall behind the clock, and do not wait for it: latency that is
measured with them has all of the delay in it.
"""

import itertools
import time
from collections.abc import Callable
from typing import Final

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.producer import Producer
from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog_pipelines.traffic.generator import Event, Plan, events
from tidelog_pipelines.traffic.shoppers import TOPICS
from tidelog_pipelines.traffic.truth import Truth

TICK_MS: Final = 20
LINGER_MS: Final = 40  # many small batches would cost the broker, and Spark, more than the records in them
CHUNK_MAX: Final = 2_000  # records between two looks at whether to stop

TIME: Final = "message.timestamp.type"
BROKERS_TIME: Final = "LogAppendTime"
PRODUCERS_TIME: Final = "CreateTime"

OnSent = Callable[[list[Event]], None]


def create_topics(client: Client, prefix: str = "", partitions: int = 2, *, time: str = PRODUCERS_TIME) -> None:
    """Create the topics of the events that do not exist yet. `time`: whose time their records have."""
    made = Admin(client).create_topics([NewTopic(prefix + name, partitions, configs={TIME: time}) for name in TOPICS])
    for outcome in made.values():
        if isinstance(outcome, ClientError) and outcome.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise outcome


class Sending:
    """The plan's events on their way, from its beginning to its end, or until `stop`. Everything that went out is
    acknowledged when `run` returns, and in the truth, if there is one."""

    def __init__(self, client: Client, plan: Plan, *, prefix: str = "", truth: Truth | None = None) -> None:
        self._client = client
        self._plan = plan
        self._topics = {name: prefix + name for name in TOPICS}
        self._truth = truth
        self._is_stopped = False
        self.sent = 0

    def stop(self) -> None:
        """Let `run` return soon. May be called from a signal handler."""
        self._is_stopped = True

    def run(self, on_sent: OnSent) -> None:
        if self._truth is not None or self._plan.speed != 1:
            self._require_own_times()
        stream = events(self._plan)
        began = time.monotonic()
        with Producer(self._client, linger_ms=LINGER_MS) as producer:
            while not self._is_stopped and self.sent != self._plan.events:
                due = int((time.monotonic() - began) * self._plan.rate) - self.sent
                chunk = list(itertools.islice(stream, max(0, min(due, CHUNK_MAX))))
                self._send(producer, chunk)
                on_sent(chunk)
                if due < CHUNK_MAX:
                    self._pause(producer)

    def _require_own_times(self) -> None:
        """Refuse topics that replace a record's time by the broker's: a truth, and a time that passes faster than ours,
        are of the plan's times."""
        for topic in self._topics.values():
            if Admin(self._client).describe_configs(ResourceType.TOPIC, topic, [TIME])[TIME].value == BROKERS_TIME:
                problem = f"it would replace the times of the plan by its own ({TIME}={BROKERS_TIME})"
                step = f"tidelog configs set --topic {topic} {TIME}={PRODUCERS_TIME}, or send without truth, at speed 1"
                asked = f"send traffic to {topic}"
                raise ClientError(ErrorCode.INVALID_CONFIG, asked, self._client.name, problem, step)

    def _send(self, producer: Producer, chunk: list[Event]) -> None:
        for topic, key, value, timestamp_ms in chunk:
            producer.send(self._topics[topic], value, key=key, timestamp=timestamp_ms)
        if self._truth is not None:
            for event in chunk:
                self._truth.add(event)
        self.sent += len(chunk)

    def _pause(self, producer: Producer) -> None:
        until = time.monotonic() + TICK_MS / 1000
        producer.poll(TICK_MS)  # returns at once when nothing is on its way
        time.sleep(max(0.0, until - time.monotonic()))
