"""Metrics of requests, connections, and of what waits for something."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.registry import APIS
from tidelog.server.metrics.declaration import Family, Kind, Read, Sample, Section, one
from tidelog.server.requests.request_metrics import ApiMetrics, Histogram

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

_REQUEST = ("request",)
_BEAN = "kafka.network:type=RequestMetrics,name={},request=*"
_SESSIONS = "kafka.server:type=FetchSessionCache,name={}"


def api_name(api_key: int) -> str:
    """As Kafka's beans call it."""
    return APIS[api_key].name


def _each_api(read: Callable[[ApiMetrics], float | Histogram]) -> Read:
    def samples(scrape: "Scrape") -> Iterable[Sample]:
        return [((api_name(key),), read(each)) for key, each in sorted(scrape.broker.request_metrics.by_api.items())]

    return samples


def _errors(scrape: "Scrape") -> Iterable[Sample]:
    for key, each in sorted(scrape.broker.request_metrics.by_api.items()):
        for code, count in sorted(each.errors.items()):
            yield (api_name(key), ErrorCode(code).name), count


def _time(name: str, bean: str, help_text: str, read: Callable[[ApiMetrics], Histogram]) -> Family:
    family = f"kafka_network_requestmetrics_{name}_seconds"
    return Family(family, Kind.HISTOGRAM, help_text, _each_api(read), _REQUEST, _BEAN.format(bean))


def _connections(scrape: "Scrape") -> Iterable[Sample]:
    found = Counter(each.accepted.listener for each in scrape.broker.connections.all())
    return [((listener,), found[listener]) for listener in scrape.broker.config.listener_plan.names]


def _purgatory(scrape: "Scrape") -> Iterable[Sample]:
    waiting = Counter(type(each).__name__.removeprefix("Delayed") for each in scrape.broker.purgatory.waiting())
    return [((kind,), waiting[kind]) for kind in ("Fetch", "Produce")]


REQUEST_METRICS = Section(
    "Requests",
    (
        Family(
            "kafka_network_requestmetrics_requests_total",
            Kind.COUNTER,
            "Requests that were answered, or needed no answer.",
            _each_api(lambda each: each.total.total),
            _REQUEST,
            _BEAN.format("RequestsPerSec"),
        ),
        Family(
            "kafka_network_requestmetrics_errors_total",
            Kind.COUNTER,
            "Requests that were refused as a whole, by error. What is refused of single partitions is counted by "
            "topic: see failedproducerequests and failedfetchrequests.",
            _errors,
            ("request", "error"),
            "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=*,error=*",
        ),
        _time("totaltime", "TotalTimeMs", "From a request's arrival until its answer left.", lambda each: each.total),
        _time(
            "requestqueuetime",
            "RequestQueueTimeMs",
            "From a request's arrival until it was taken up: other requests of the same turn came first.",
            lambda each: each.queue,
        ),
        _time(
            "localtime",
            "LocalTimeMs",
            "Handling it. For small produce requests the whole turn until the answer: queue, append and write.",
            lambda each: each.local,
        ),
        _time(
            "remotetime",
            "RemoteTimeMs",
            "Waiting for something else: replicas, a sync, data, the controller.",
            lambda each: each.remote,
        ),
        _time(
            "responsesendtime",
            "ResponseSendTimeMs",
            "From the answer to the end of the turn, where the network took it.",
            lambda each: each.response,
        ),
        Family(
            "kafka_server_delayedoperationpurgatory_numdelayedoperations",
            Kind.GAUGE,
            "Requests that wait: produces for replicas or a sync, fetches for data.",
            _purgatory,
            ("delayedoperation",),
            "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations,delayedOperation=*",
        ),
        Family(
            "kafka_server_fetchsessioncache_numincrementalfetchsessions",
            Kind.GAUGE,
            "Fetch sessions.",
            one(lambda scrape: len(scrape.broker.fetch_sessions)),
            (),
            _SESSIONS.format("NumIncrementalFetchSessions"),
        ),
        Family(
            "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
            Kind.GAUGE,
            "Partitions in fetch sessions.",
            one(lambda scrape: scrape.broker.fetch_sessions.partition_count),
            (),
            _SESSIONS.format("NumIncrementalFetchPartitionsCached"),
        ),
    ),
)

CONNECTION_METRICS = Section(
    "Connections",
    (
        Family(
            "kafka_server_socketservermetrics_connection_count",
            Kind.GAUGE,
            "Open connections. The listener for metrics is not among them.",
            _connections,
            ("listener",),
            "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=* connection-count",
        ),
        Family(
            "kafka_server_socketservermetrics_connection_creation_total",
            Kind.COUNTER,
            "Connections that were accepted.",
            one(lambda scrape: scrape.broker.connections.accepted_total),
            (),
            "kafka.server:type=socket-server-metrics connection-creation-total",
        ),
        Family(
            "tidelog_connections_refused_total",
            Kind.COUNTER,
            "Connections that were closed at once: max.connections or max.connections.per.ip was reached.",
            one(lambda scrape: scrape.broker.connections.refused_total),
        ),
        Family(
            "tidelog_receive_buffer_bytes",
            Kind.GAUGE,
            "Memory of the connections' receive buffers.",
            one(lambda scrape: sum(each.receive.capacity for each in scrape.broker.connections.all())),
        ),
        Family(
            "tidelog_receive_buffer_pending_bytes",
            Kind.GAUGE,
            "Bytes in them that were not handled yet: parts of requests, and requests for the next turn.",
            one(lambda scrape: sum(each.receive.pending_bytes for each in scrape.broker.connections.all())),
        ),
    ),
)
