"""The directories of a config, however a server.properties spells them."""

from pathlib import Path

import pytest
from tests.unit.config.files import config

from tidelog.config.settings.log import CORDONED_LOG_DIRS
from tidelog.config.settings.metadata_log import METADATA_LOG_DIR
from tidelog.io.development import DevelopmentNode, development_config
from tidelog.io.directories import with_absolute_directories


@pytest.mark.parametrize(
    ("spelled", "found"),
    [
        ("/var/kafka/", ("/var/kafka",)),
        ("/var//kafka", ("/var/kafka",)),
        ("/var/x/../kafka", ("/var/kafka",)),
        ("kafka", ("/here/kafka",)),
        ("./kafka/", ("/here/kafka",)),
        ("/a, /b/", ("/a", "/b")),
        ("/a,/a/", ("/a",)),
    ],
)
def test_every_spelling_is_one_directory(spelled: str, found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    assert with_absolute_directories(config(log_dirs=spelled)).log_dirs == found
    assert with_absolute_directories(config(log_dir=spelled)).log_dirs == found


def test_those_of_the_metadata_log_and_those_that_take_nothing_new_too() -> None:
    made = with_absolute_directories(config(log_dirs="/a/,/b", metadata_log_dir="/m/", cordoned_log_dirs="/a/"))
    assert (made.get(METADATA_LOG_DIR), made.get(CORDONED_LOG_DIRS)) == ("/m", ("/a",))
    assert with_absolute_directories(config(log_dirs="/a/", cordoned_log_dirs="*")).get(CORDONED_LOG_DIRS) == ("*",)


def test_a_config_that_needs_nothing_is_left_alone() -> None:
    given = config(log_dirs="/a,/b")
    assert with_absolute_directories(given) is given


def test_a_development_node_takes_them_as_well(tmp_path: Path) -> None:
    node = DevelopmentNode(str(tmp_path), overrides={"log.dirs": f"{tmp_path}/x/../data/"})
    assert development_config(node, "--override").config.log_dirs == (f"{tmp_path}/data",)
