"""The metrics after known traffic, scraped from a node in the simulator as Prometheus would."""

from collections.abc import Iterator

import pytest
from tests.support.prometheus import Exposition, parse
from tests.unit.server.requests.test_first_contact import batch_of, create, fetch, produce

from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import IoError
from tidelog.ports.network import ConnectionId
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.http.pages import unreadiness
from tidelog.server.metrics.catalogue import FAMILIES
from tidelog.server.node.node import Phase
from tidelog.sim.node_world import NodeWorld, SimClient

PORT = 9404
TOPICS = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"


class Scraper:
    """A connection to the listener for metrics, as the simulated network's receiver."""

    def __init__(self, world: NodeWorld) -> None:
        self._world = world
        self._room = bytearray(65_536)
        self._heard = b""
        self._id: ConnectionId = world.client_host.connect("node", PORT, self)

    def writable(self) -> memoryview:
        return memoryview(self._room)

    def received(self, count: int) -> None:
        self._heard += bytes(self._room[:count])

    def connected(self) -> None: ...

    def drained(self) -> None: ...

    def closed(self, _reason: str) -> None: ...

    def get(self, path: str) -> tuple[int, str]:
        self._world.client_host.send(self._id, [f"GET {path} HTTP/1.1\r\nHost: node\r\n\r\n".encode()])
        status, body = self._world.wait_for(self._look)
        return int(status), body

    def _look(self) -> tuple[bytes, str] | None:
        head, end, body = self._heard.partition(b"\r\n\r\n")
        if not end:
            return None
        length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
        if len(body) < length:
            return None
        self._heard = body[length:]
        return head[9:12], body[:length].decode()

    def scrape(self) -> Exposition:
        status, body = self.get("/metrics")
        assert status == 200
        return parse(body)


def new_world(**overrides: str) -> NodeWorld:
    world = NodeWorld(seed=21, overrides={name.replace("_", "."): value for name, value in overrides.items()})
    world.node_host.listen(PORT, METRICS_LISTENER.name)
    return world


@pytest.fixture(scope="module")
def world() -> NodeWorld:
    return new_world()


@pytest.fixture
def client(world: NodeWorld) -> Iterator[SimClient]:
    client = world.client()
    yield client
    client.close()


@pytest.fixture
def scraper(world: NodeWorld) -> Scraper:
    return Scraper(world)


def test_records_and_bytes_are_counted_by_topic(client: SimClient, scraper: Scraper) -> None:
    create(client, "counted", 2)
    batches = [(b"a", b"bb"), (b"ccc",), (b"d", b"e", b"f")]
    for batch in batches:
        produce(client, "counted", *batch)
    size = sum(len(batch_of(*batch)) for batch in batches)
    assert len(fetch(client, "counted")) == 6
    found = scraper.scrape()
    assert found.value(f"{TOPICS}messagesin_total", topic="counted") == 6
    assert found.value(f"{TOPICS}bytesin_total", topic="counted") == size
    assert found.value(f"{TOPICS}bytesout_total", topic="counted") == size
    assert found.value(f"{TOPICS}totalproducerequests_total", topic="counted") == 3
    assert found.value(f"{TOPICS}totalfetchrequests_total", topic="counted") == 1
    assert found.value("kafka_log_log_size", topic="counted", partition="0") == size
    assert found.value("kafka_log_log_size", topic="counted", partition="1") == 0
    assert found.value("kafka_log_log_logendoffset", topic="counted", partition="0") == 6
    assert found.value("kafka_log_log_logstartoffset", topic="counted", partition="0") == 0
    assert found.value("kafka_log_log_numlogsegments", topic="counted", partition="0") == 1


def test_what_is_refused_is_counted(client: SimClient, scraper: Scraper) -> None:
    create(client, "refused")
    damaged = bytearray(batch_of(b"x"))
    damaged[-1] ^= 0xFF
    data = PartitionProduceData(index=0, records=memoryview(damaged))
    topics = [TopicProduceData(name="refused", partition_data=[data])]
    client.ask(ProduceRequest(acks=-1, timeout_ms=100, topic_data=topics), 9)
    beyond = FetchPartition(partition=0, fetch_offset=99, partition_max_bytes=1 << 20)
    client.ask(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="refused", partitions=[beyond])]), 12)
    found = scraper.scrape()
    assert found.value(f"{TOPICS}failedproducerequests_total", topic="refused") == 1
    assert found.value(f"{TOPICS}failedfetchrequests_total", topic="refused") == 1
    assert found.value(f"{TOPICS}messagesin_total", topic="refused") == 0


def test_a_deleted_topic_takes_its_series_with_it(client: SimClient, scraper: Scraper) -> None:
    create(client, "gone", 3)
    produce(client, "gone", b"x")
    before = scraper.scrape()
    assert before.labels("kafka_log_log_size", "topic").count("gone") == 3
    client.ask(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1_000), 5)
    after = scraper.scrape()
    assert not [name for name, series in after.samples.items() for labels in series if ("topic", "gone") in labels]
    count = "kafka_server_replicamanager_partitioncount"
    assert before.value(count) - after.value(count) == 3


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_requests_are_counted_once_however_they_go(acks: int) -> None:
    """The first request of a connection takes the ordinary path, the next the quick one; all are in all histograms."""
    world = new_world()
    client, scraper = world.client(), Scraper(world)
    create(client, "requests")
    data = [TopicProduceData(name="requests", partition_data=[PartitionProduceData(index=0, records=batch_of(b"x"))])]
    for _ in range(5):
        client.send(ProduceRequest(acks=acks, timeout_ms=100, topic_data=data), 9, expect_response=acks != 0)
        if acks:
            client.receive()
    world.run(20)
    found = scraper.scrape()
    assert found.value(f"{REQUESTS}requests_total", request="Produce") == 5
    assert found.value(f"{REQUESTS}requests_total", request="CreateTopics") == 1
    for part in ("totaltime", "requestqueuetime", "localtime", "remotetime", "responsesendtime"):
        assert found.value(f"{REQUESTS}{part}_seconds_count", request="Produce") == 5
    assert found.value("kafka_server_socketservermetrics_connection_count", listener="PLAINTEXT") == 1
    assert found.value("kafka_server_socketservermetrics_connection_creation_total") == 1


def test_requests_that_wait_for_a_sync_are_counted_once_and_the_sync_too() -> None:
    world = new_world(log_flush_interval_messages="1")
    client, scraper = world.client(), Scraper(world)
    create(client, "synced")
    for _ in range(3):
        produce(client, "synced", b"x")
    found = scraper.scrape()
    assert found.value(f"{REQUESTS}requests_total", request="Produce") == 3
    assert found.value(f"{REQUESTS}remotetime_seconds_count", request="Produce") == 3
    assert found.value(f"{REQUESTS}remotetime_seconds_sum", request="Produce") > 0
    assert found.value("kafka_log_logflushstats_logflushrateandtime_seconds_count") >= 3


def test_the_time_of_a_long_poll_is_remote() -> None:
    world = new_world()
    client, scraper = world.client(), Scraper(world)
    create(client, "poll")
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    client.send(
        FetchRequest(max_wait_ms=2_000, min_bytes=1, topics=[FetchTopic(topic="poll", partitions=[partition])]), 12
    )
    world.run(30)
    waiting = "kafka_server_delayedoperationpurgatory_numdelayedoperations"
    assert scraper.scrape().value(waiting, delayedoperation="Fetch") == 1
    client.receive()
    found = scraper.scrape()
    assert found.value(waiting, delayedoperation="Fetch") == 0
    assert found.value(f"{REQUESTS}remotetime_seconds_sum", request="Fetch") == pytest.approx(2, abs=0.1)
    assert found.value(f"{REQUESTS}totaltime_seconds_bucket", request="Fetch", le="5") == 1
    assert found.value(f"{REQUESTS}totaltime_seconds_bucket", request="Fetch", le="1") == 0


def test_a_request_that_is_refused_as_a_whole_is_counted_by_its_error(client: SimClient, scraper: Scraper) -> None:
    gone = FetchRequest(max_wait_ms=0, min_bytes=0, session_id=77, session_epoch=5, topics=[])
    assert client.ask(gone, 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    errors = scraper.scrape().samples[f"{REQUESTS}errors_total"]
    assert errors[frozenset({("request", "Fetch"), ("error", "FETCH_SESSION_ID_NOT_FOUND")})] == 1


def test_the_control_plane_is_told(client: SimClient, scraper: Scraper, world: NodeWorld) -> None:
    client.ask(OffsetForLeaderEpochRequest(topics=[]), 4)
    found = scraper.scrape()
    quorum = world.running.broker.quorum
    assert found.value("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert found.value("kafka_controller_kafkacontroller_activebrokercount") == 1
    assert found.value("kafka_controller_kafkacontroller_fencedbrokercount") == 0
    assert found.value("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
    topics = world.running.broker.image.topics.by_id
    assert found.value("kafka_controller_kafkacontroller_globaltopiccount") == len(topics)
    partitions = sum(len(topic.partitions) for topic in topics.values())
    assert found.value("kafka_controller_kafkacontroller_globalpartitioncount") == partitions
    assert found.value("kafka_server_replicamanager_leadercount") == partitions
    assert found.value("kafka_server_raftmetrics_high_watermark") == quorum.high_watermark
    assert found.value("kafka_server_kafkaserver_brokerstate") == 3


def test_the_room_of_each_log_directory_is_told(world: NodeWorld, scraper: Scraper) -> None:
    exposition = scraper.scrape()
    (path,) = world.running.broker.logs.directories
    room = world.running.broker.logs.directories[path].room
    assert exposition.value("tidelog_log_directory_usable_bytes", logdirectory=path) == room.usable_bytes()
    assert exposition.value("tidelog_log_directory_reserved_bytes", logdirectory=path) == room.reserved_bytes


def test_turns_are_timed(scraper: Scraper) -> None:
    first, second = scraper.scrape(), scraper.scrape()
    turns = "tidelog_loop_turn_seconds_count"
    assert second.value(turns) > first.value(turns) > 0


def test_every_family_is_declared_once_and_told_by_its_name(client: SimClient, scraper: Scraper) -> None:
    create(client, "families")
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names)
    found = scraper.scrape()
    assert set(found.kinds) <= set(names)
    # There are no groups and transactions here (test_coordinators_survey has some).
    nobody = {"tidelog_consumer_lag", "tidelog_consumer_lag_max", "tidelog_groups", "tidelog_transactions"}
    unknown_here = {name for name in names if name.startswith("process_")} | {f"{REQUESTS}errors_total"} | nobody
    assert set(names) - set(found.kinds) <= unknown_here
    assert all(found.kinds[each.name] == each.kind.value for each in FAMILIES if each.name in found.kinds)


def test_health_and_readiness(scraper: Scraper) -> None:
    assert scraper.get("/healthz") == (200, "ok\n")
    assert scraper.get("/readyz") == (200, "ready\n")
    assert scraper.get("/nothing")[0] == 404


def test_a_node_that_starts_is_alive_and_not_ready() -> None:
    world = new_world()
    world.kill()
    world.start(until_running=False)
    world.node_host.listen(PORT, METRICS_LISTENER.name)
    assert unreadiness(world.running) == ["the node is electing", "the broker is fenced"]
    scraper = Scraper(world)
    assert scraper.get("/healthz")[0] == 200
    assert world.running.phase is not Phase.RUNNING
    status, text = scraper.get("/readyz")
    assert (status, text) == (503, f"the node is {world.running.phase.value}\nthe broker is fenced\n")
    world.wait_for(lambda: not unreadiness(world.running) or None)
    assert scraper.get("/readyz")[0] == 200


def test_a_node_that_stops_or_lost_a_directory_is_not_ready() -> None:
    world = new_world(log_dirs="/disk/a,/disk/b")
    directory = world.running.broker.logs.directories["/disk/b"]
    directory.take_offline(IoError("/disk/b", "a test"))
    assert unreadiness(world.running) == ["the log directory /disk/b is offline"]
    assert Scraper(world).scrape().value("kafka_log_logmanager_offlinelogdirectorycount") == 1
    world.running.begin_stop()
    assert "the node is stopping" in unreadiness(world.running)


def test_a_client_that_comes_before_the_node_serves_waits() -> None:
    world = new_world()
    world.kill()
    world.start(until_running=False)
    early = world.client()
    create(early, "early")
    assert produce(early, "early", b"x") == 0
