"""The meaning of the job's arguments."""

from pathlib import Path

import pytest

from tidelog_pipelines.ecommerce.events import EXACT_TYPES, EventTopics, items_schema, json_schema
from tidelog_pipelines.ecommerce.settings import Settings, interval, parse

NEEDED = ["--bootstrap-server", "localhost:9092", "--checkpoint", "/state/"]


def test_the_least_that_it_needs() -> None:
    settings = parse(NEEDED)
    assert settings == Settings("localhost:9092", "/state/")
    assert settings.archive is None
    assert settings.when(settings.trigger) == {"processingTime": "1 seconds"}
    assert settings.checkpoint_of("results") == "/state/results"
    assert settings.dead_letters == "dead_letters"


def test_everything_at_once() -> None:
    more = ["--archive", "/lake", "--events-prefix", "e-", "--results-prefix", "r-", "--trigger", "500ms", "--master"]
    more += ["spark://host:7077", "--available-now", "--conf", "spark.executor.memory=1g", "--state-partitions", "4"]
    settings = parse([*NEEDED, *more, "--slow-trigger", "1m", "--max-offsets-per-trigger", "9"])
    assert settings == Settings(
        "localhost:9092",
        "/state/",
        "/lake",
        "e-",
        "r-",
        "500 milliseconds",
        "1 minutes",
        is_available_now=True,
        master="spark://host:7077",
        state_partitions=4,
        max_offsets=9,
        spark=(("spark.executor.memory", "1g"),),
    )
    assert settings.when(settings.trigger) == {"availableNow": True}
    assert not settings.believes_producers
    assert settings.topics.counted == ("e-product_viewed", "e-purchase_completed")
    assert settings.dead_letters == "r-dead_letters"


def test_settings_of_kafkas_clients_go_to_every_connection(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism: PLAIN\nsasl.username = ann\nsasl.password=s\\u00e9same\n"
    )
    more = ["--command-config", str(file), "--kafka", "sasl.username=bob", "--kafka", "kafka.client.id=shop"]
    settings = parse([*NEEDED, *more, "--producer-times"])
    assert settings.cluster == {
        "kafka.bootstrap.servers": "localhost:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "bob",
        "kafka.sasl.password": "sésame",
        "kafka.client.id": "shop",
    }
    assert "sésame" not in repr(settings)
    assert settings.believes_producers


@pytest.mark.parametrize(
    "wrong",
    [
        ["--trigger", "soon"],
        ["--conf", "=x"],
        ["--conf", "spark.x"],
        ["--state-partitions", "x"],
        ["--kafka", "x"],
        ["--command-config", "/no/file"],
    ],
)
def test_a_wrong_value_is_named(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([*NEEDED, *wrong])
    assert wrong[0] in capsys.readouterr().err


def test_an_interval_in_sparks_words() -> None:
    assert [interval(text) for text in ("500ms", "1s", "2m")] == ["500 milliseconds", "1 seconds", "2 minutes"]


def test_a_topic_knows_its_kind() -> None:
    assert EventTopics("x-").kind("x-add_to_cart") == "add_to_cart"


def test_strings_are_read_as_such_and_exactly_where_that_is_asked_for() -> None:
    assert "user_id string" in json_schema()
    assert "at bigint" in json_schema()
    assert json_schema().endswith("items array<struct<product_id:string,quantity:bigint,price_cents:bigint>>")
    assert items_schema(EXACT_TYPES) == "items array<struct<product_id:variant,quantity:bigint,price_cents:bigint>>"
