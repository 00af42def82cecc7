"""Loading a file: a stock one works, and a bad one is refused with a list of everything that is wrong with it."""

import pytest
from tests.unit.config.files import BROKER_ONLY, COMBINED, STOCK, config, load

from tidelog.config import DEVELOPMENT_PROPERTIES, ConfigError, Notice, load_broker_config
from tidelog.config.endpoints import Listener, SecurityProtocol
from tidelog.config.settings import listeners, log, node, requests


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_broker_config(text)
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    return [str(problem) for problem in caught.value.problems]


def warnings(text: str, notice: Notice) -> list[str]:
    return [str(each) for each in load_broker_config(text).warnings if each.notice is notice]


def test_a_stock_file_loads_and_says_what_is_ignored() -> None:
    loaded = load_broker_config(STOCK)
    assert {each.problem.name for each in loaded.warnings} == {
        "num.network.threads",
        "num.io.threads",
        "socket.send.buffer.bytes",
        "socket.receive.buffer.bytes",
        "num.recovery.threads.per.data.dir",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
    }
    assert {each.notice for each in loaded.warnings} == {Notice.HARMLESS}
    assert loaded.config.get(node.NODE_ID) == 1
    assert loaded.config.get(node.BROKER_ID) == 1
    assert loaded.config.log_dirs == ("/tmp/kraft-combined-logs",)
    assert loaded.config.get(log.LOG_SEGMENT_BYTES) == 1 << 30
    assert loaded.config.topic_config({}).retention_ms == 7 * 24 * 60 * 60 * 1000


def test_what_the_listeners_of_a_stock_file_mean() -> None:
    plan = load_broker_config(STOCK).config.listener_plan
    assert plan.listeners == (Listener("PLAINTEXT", "", 9092), Listener("CONTROLLER", "", 9093))
    assert plan.advertised_to_clients == (Listener("PLAINTEXT", "localhost", 9092),)
    assert plan.controller_names == ("CONTROLLER",)
    assert plan.inter_broker_name == "PLAINTEXT"
    assert plan.protocols["CONTROLLER"] is SecurityProtocol.PLAINTEXT
    assert plan.is_broker
    assert plan.is_controller


def test_without_advertised_listeners_clients_are_told_what_they_connected_to() -> None:
    plan = load(BROKER_ONLY, {"listeners": "PLAINTEXT://0.0.0.0:9092"}).listener_plan
    assert plan.advertised is None
    assert plan.protocols["CONTROLLER"] is SecurityProtocol.PLAINTEXT
    assert not plan.is_controller


def test_a_bad_value_is_refused_with_all_that_is_needed_to_mend_it() -> None:
    assert problems(STOCK + "log.index.interval.bytes=12x\n") == [
        "server.properties:32: log.index.interval.bytes = 12x: not a whole number; valid: an int of at least 0"
    ]


def test_all_that_is_wrong_is_reported_in_the_order_of_the_file() -> None:
    text = (
        STOCK
        + "log.segment.bytes=5\nnum.partitions=none\na=\\u00\nunclean.leader.election.enable=maybe\nlog.roll.ms=0\n"
    )
    assert [line.partition(": ")[0] for line in problems(text)] == [f"server.properties:{n}" for n in range(32, 37)]


def test_what_is_missing_is_reported_together() -> None:
    assert problems("") == [
        "server.properties: process.roles: missing; valid: a list of broker, controller, not empty",
        "server.properties: node.id: missing; valid: an int of at least 0",
        "server.properties: controller.listener.names: missing; valid: a list, not empty",
        (
            "server.properties: controller.quorum.bootstrap.servers: missing, and so is controller.quorum.voters: "
            "the node would not know its controllers; valid: a list of host:port"
        ),
    ]


def test_a_rule_about_a_value_that_was_refused_stays_silent() -> None:
    found = problems(STOCK + "listeners=nonsense\nlog.retention.ms=3x\nlog.local.retention.ms=999999999999\n")
    assert [line.split(" = ")[0] for line in found] == [
        "server.properties:32: listeners",
        "server.properties:33: log.retention.ms",
    ]


def test_broker_id_is_the_older_name_of_node_id() -> None:
    properties = {name: value for name, value in COMBINED.items() if name != "node.id"}
    assert load(properties, {"broker.id": "7"}).get(node.NODE_ID) == 7


def test_an_unknown_setting_is_a_warning_with_the_nearest_name() -> None:
    assert warnings(STOCK + "log.retention.hour=5\nzzz=1\n", Notice.UNKNOWN) == [
        "server.properties:32: log.retention.hour: unknown setting; did you mean log.retention.hours?",
        "server.properties:33: zzz: unknown setting",
    ]


def test_a_setting_that_kafka_has_dropped_is_a_warning_with_advice() -> None:
    (warning,) = warnings(STOCK + "zookeeper.connect=localhost:2181\n", Notice.UNKNOWN)
    assert "no longer a setting since Kafka 4.0; there is no ZooKeeper" in warning


def test_a_repeated_setting_is_a_warning_and_the_last_counts() -> None:
    text = STOCK + "message.max.bytes=x\nmessage.max.bytes=2000\n"
    expected = "server.properties:32: message.max.bytes: set again on line 33, which counts"
    assert warnings(text, Notice.REPEATED) == [expected]
    assert load_broker_config(text).config.get(requests.MESSAGE_MAX_BYTES) == 2000


def test_a_setting_for_running_clusters_has_no_effect_in_a_file() -> None:
    loaded = load_broker_config(STOCK + "leader.replication.throttled.rate=5\n")
    assert loaded.warnings[-1].problem.reason == "can only be set on a running cluster; ignored"
    assert "leader.replication.throttled.rate" not in loaded.config.layers.static


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("broker.heartbeat.interval.ms=5000", "more than half of broker.session.timeout.ms"),
        ("listener.name.nobody.num.network.threads=5", "there is no listener NOBODY"),
    ],
)
def test_an_unwise_choice_is_a_warning(line: str, reason: str) -> None:
    (warning,) = warnings(STOCK + line, Notice.UNWISE)
    assert reason in warning


def test_what_a_plug_in_owns_is_passed_through() -> None:
    text = STOCK + "rsm.config.bucket=b\nmine.a=1\nremote.log.metadata.manager.impl.prefix=mine.\n"
    assert warnings(text, Notice.UNKNOWN) == []


def test_a_listeners_own_setting_is_checked_too() -> None:
    (problem,) = problems(STOCK + "listener.name.plaintext.max.connections=-1\n")
    assert problem == (
        "server.properties:32: listener.name.plaintext.max.connections = -1: below 0; valid: an int of at least 0"
    )
    text = STOCK + "listener.name.plaintext.log.segment.bytes=1073741824\n"
    assert "cannot be set for one listener" in warnings(text, Notice.HARMLESS)[-1]
    assert "did you mean" not in warnings(STOCK + "listener.name.plaintext.zzz=1", Notice.UNKNOWN)[0]


def test_no_secret_is_shown() -> None:
    secret = "hunter2"
    text = (
        STOCK + f"ssl.key.password={secret}\nlistener.name.plaintext.plain.sasl.jaas.config={secret}\nmy.own={secret}\n"
    )
    shown = problems(text)
    assert secret not in " ".join(shown)
    assert sum("[hidden]" in line for line in shown) == 2
    text += f"sasl.login.class={secret}\nnode.id={secret}\nssl.keystore.password=\\u00{secret}\n"
    found = " ".join(problems(text))
    assert found.count(secret) == 2  # only in the two settings that are no secrets
    loaded = load_broker_config(STOCK + f"my.own={secret}\n")
    assert secret not in f"{loaded!r} {loaded.config!r} {loaded.warnings}"


def test_development_nodes_do_not_wait_for_a_second_consumer() -> None:
    assert DEVELOPMENT_PROPERTIES == {
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.heartbeat.interval.ms": "1000",
        "group.consumer.min.heartbeat.interval.ms": "500",
        "group.consumer.assignment.interval.ms": "0",
    }


def test_values_are_read_by_setting() -> None:
    assert config().get(listeners.SOCKET_REQUEST_MAX_BYTES) == 104_857_600
    assert config(max_connections="5").get(listeners.MAX_CONNECTIONS) == 5
    assert config().get(node.BROKER_RACK) is None
