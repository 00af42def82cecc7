"""The metrics of groups and transactions: lag that can be checked by hand, taken in pieces, and no more than fits."""

import pytest
from tests.unit.client.simulated import COORDINATING, client_of, world_of
from tests.unit.server.metrics.test_declaration import PORT, Scraper

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.group.consumer import GroupConsumer
from tidelog.client.producer.producer import Producer
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.record import EARLIEST
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.model.ids import TopicPartition
from tidelog.server.metrics import coordinators_survey as metrics_coordinators
from tidelog.server.metrics.coordinators_survey import CoordinatorSurvey
from tidelog.sim.node_world import NodeWorld


@pytest.fixture(scope="module")
def world() -> NodeWorld:
    world = NodeWorld(seed=61, overrides=COORDINATING)
    world.node_host.listen(PORT, METRICS_LISTENER.name)
    return world


@pytest.fixture
def client(world: NodeWorld) -> Client:
    return client_of(world)


@pytest.fixture
def scraper(world: NodeWorld) -> Scraper:
    return Scraper(world)


def fill(client: Client, topic: str, *counts: int) -> None:
    """Create the topic with `counts` records in its partitions."""
    Admin(client).create_topic(NewTopic(topic, len(counts)))
    with Producer(client) as producer:
        for partition, count in enumerate(counts):
            for _ in range(count):
                producer.send(topic, b"x", partition=partition)


def commit(client: Client, group: str, topic: str, *offsets: int) -> None:
    given = {TopicPartition(topic, index): offset for index, offset in enumerate(offsets)}
    assert set(Admin(client).alter_group_offsets(group, given).values()) == {None}


def test_lag_by_group_and_topic(client: Client, scraper: Scraper) -> None:
    fill(client, "lagging", 10, 20, 5)
    commit(client, "behind", "lagging", 3, 20)
    commit(client, "there", "lagging", 10, 20, 5)
    commit(client, "ahead", "lagging", 99)
    found = scraper.scrape()
    lag, worst = "tidelog_consumer_lag", "tidelog_consumer_lag_max"
    assert found.value(lag, group="behind", topic="lagging") == 7
    assert found.value(worst, group="behind", topic="lagging") == 7
    commit(client, "behind", "lagging", 3, 8)
    found = scraper.scrape()
    assert found.value(lag, group="behind", topic="lagging") == 19
    assert found.value(worst, group="behind", topic="lagging") == 12
    assert found.value(lag, group="there", topic="lagging") == 0
    assert found.value(lag, group="ahead", topic="lagging") == 0
    assert found.value("tidelog_consumer_lag_left_out") == 0
    Admin(client).delete_groups(["behind"])
    assert "behind" not in scraper.scrape().labels(lag, "group")


def test_groups_offsets_and_what_became_of_them(client: Client, scraper: Scraper) -> None:
    fill(client, "counted", 4, 4)
    before = scraper.scrape()
    commit(client, "simple", "counted", 1, 2)
    consumer = GroupConsumer(client, "members", start=EARLIEST)
    consumer.subscribe(["counted"])
    while not consumer.is_reconciled:
        consumer.poll(20)
    consumer.commit()
    found = scraper.scrape()

    def grown(name: str) -> float:
        return found.value(name) - before.value(name)

    assert found.value("tidelog_groups", type="consumer", state="Stable") == 1
    assert found.value("tidelog_groups", type="classic", state="Empty") >= 1
    assert grown("kafka_coordinator_group_groupmetadatamanager_numgroups") == 2
    assert grown("kafka_coordinator_group_groupmetadatamanager_numgroupsempty") == 1
    assert grown("kafka_coordinator_group_groupmetadatamanager_numoffsets") == 4
    assert grown("kafka_server_groupcoordinatormetrics_offset_commit_total") == 4
    assert grown("kafka_server_groupcoordinatormetrics_consumer_group_rebalance_total") >= 1
    consumer.close()
    Admin(client).delete_groups(["simple", "members"])
    deleted = "kafka_server_groupcoordinatormetrics_offset_deletion_total"
    assert scraper.scrape().value(deleted) - found.value(deleted) == 4


def test_transactions_by_state_and_the_age_of_the_oldest(client: Client, scraper: Scraper) -> None:
    fill(client, "written", 1)
    before = scraper.scrape()
    for name in ("older", "younger"):
        producer = TransactionalProducer(client, name)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("written", b"x")
        producer.flush()
        world_of(client).clock.advance(3_000)
    found = scraper.scrape()
    assert found.value("tidelog_transactions", state="Ongoing") == 2
    assert found.value("tidelog_transactions_oldest_open_seconds") == pytest.approx(6, abs=0.5)
    producer.commit_transaction()
    Admin(client).fence_producer("older")
    ended = scraper.scrape()
    assert ended.value("tidelog_transactions_oldest_open_seconds") == 0
    for name, count in (("started", 2), ("committed", 1), ("aborted", 1), ("timed_out", 0)):
        full = f"tidelog_transactions_{name}_total"
        assert ended.value(full) - before.value(full) == count


def survey_of(world: NodeWorld) -> tuple[CoordinatorSurvey, int]:
    """Take a survey; return it, and in how many pieces it was taken."""
    survey = CoordinatorSurvey()
    return survey, sum(1 for _ in survey.take(world.running.broker))


def test_only_those_furthest_behind_are_told(
    client: Client, world: NodeWorld, scraper: Scraper, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client, "many", 100)
    for index in range(9):
        commit(client, f"many-{index}", "many", index * 10)
    whole, _ = survey_of(world)
    monkeypatch.setattr(metrics_coordinators, "LAG_SERIES_MAX", 3)
    survey, _ = survey_of(world)
    assert sorted(survey.lag) == [("many-0", "many"), ("many-1", "many"), ("many-2", "many")]
    assert survey.lag_left_out == len(whole.lag) - 3
    assert scraper.scrape().value("tidelog_consumer_lag_left_out") == len(whole.lag) - 3


def test_it_gives_way_between_pieces(client: Client, world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(client, "pieces", 1, 1, 1)
    for index in range(6):
        commit(client, f"pieces-{index}", "pieces", 0, 0, 0)
    whole, few = survey_of(world)
    monkeypatch.setattr(metrics_coordinators, "OFFSETS_A_PIECE", 3)
    monkeypatch.setattr(metrics_coordinators, "ENTRIES_A_PIECE", 1)
    sliced, many = survey_of(world)
    assert sliced == whole
    assert many >= few + 6


def test_groups_that_go_while_it_looks_are_left_out(
    client: Client, world: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client, "going", 5)
    for index in range(4):
        commit(client, f"going-{index}", "going", 0)
    monkeypatch.setattr(metrics_coordinators, "OFFSETS_A_PIECE", 1)
    survey = CoordinatorSurvey()
    pieces = survey.take(world.running.broker)
    while not any(group.startswith("going") for group, _ in survey.lag):
        next(pieces)
    Admin(client).delete_groups([f"going-{index}" for index in range(4)])
    for _ in pieces:
        pass
    assert 1 <= len([group for group, _ in survey.lag if group.startswith("going")]) < 4
