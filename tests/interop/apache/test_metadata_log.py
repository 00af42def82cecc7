"""The metadata log between Apache Kafka and us: their tools read what we write, and a directory goes back and forth
between their broker and our controller."""

import json
import re
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.interop.apache.broker import CLUSTER_ID, format_directory, running_broker
from tests.interop.apache.conftest import ApacheDirectory
from tests.interop.apache.jars import run_tool
from tests.interop.apache.metadata_node import format_ours, our_controller
from tests.interop.apache.printed import apache_dump

from tidelog.io.files import PosixFileSystem
from tidelog.metadata.bootstrap import bootstrap_metadata_version
from tidelog.metadata.feature_levels import LATEST_METADATA_VERSION
from tidelog.model.ids import format_uuid
from tidelog.server.metadata_log.bootstrap_checkpoint import read_bootstrap

SHELL = "org.apache.kafka.shell.MetadataShell"
METADATA = "__cluster_metadata-0"
WAIT_SECONDS_MAX = 30
SHELL_SECONDS_MAX = 15
SHELL_TRIES_MAX = 8


def payloads(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(found[1]) for line in lines if (found := re.search(r" payload: (\{.*\})$", line))]


def control(lines: list[str]) -> list[str]:
    kinds = r" (LeaderChange|KRaftVersion|KRaftVoters|SnapshotHeader|SnapshotFooter):? \{"
    return [found[1] for line in lines if (found := re.search(kinds, line))]


def topic_names(directory: Path, *, is_static: bool = True) -> list[str]:
    with our_controller(directory, is_static=is_static) as node:
        assert node.loaded.problems == []
        node.controller.validate_state()
        assert list(node.follower.image.topics.by_name) == list(node.controller.metadata.topics.by_name)
        return sorted(node.controller.metadata.topics.by_name)


def shell(jars: Path, snapshot: Path, *command: str) -> list[str]:
    """Return the words that MetadataShell prints, without those that it logs.

    One run in ten waits for ever and is repeated. The shell's loader looks at what it has applied when records come;
    its reader knows where the snapshot ends only at the footer, which brings none (SnapshotFileReader.java).
    """
    for _ in range(SHELL_TRIES_MAX - 1):
        with suppress(TimeoutExpired):
            shown, _ = run_tool(jars, SHELL, "--snapshot", str(snapshot), *command, seconds_max=SHELL_SECONDS_MAX)
            break
    else:
        shown, _ = run_tool(jars, SHELL, "--snapshot", str(snapshot), *command)
    return " ".join(line for line in shown.splitlines() if "control record" not in line).split()


def create(bootstrap: str, name: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})
    client.create_topics([NewTopic(name, 2, 1)])[name].result(WAIT_SECONDS_MAX)


def test_apaches_tools_read_our_log_and_snapshot(jars: Path, tmp_path: Path) -> None:
    directory = tmp_path / "ours"
    format_ours(directory, standalone=True)
    with our_controller(directory) as node:
        node.register_broker()
        topic_id = node.create_topic("orders", 3, retention_ms="1234")
    with our_controller(directory) as node:
        assert node.quorum.epoch == 2
        snapshot = node.take_snapshot()
        node.create_topic("later", 1)
    log, first = directory / METADATA / f"{0:020d}.log", directory / METADATA / f"{0:020d}-{0:010d}.checkpoint"
    files = [log, snapshot, first, directory / "bootstrap.checkpoint"]
    printed = apache_dump(jars, files, "--cluster-metadata-decoder")

    quorum = ["KRaftVersion", "KRaftVoters"]
    assert control(printed[str(log)]) == ["LeaderChange", *quorum, "LeaderChange"]
    assert control(printed[str(snapshot)]) == ["SnapshotHeader", *quorum, "SnapshotFooter"]
    assert control(printed[str(first)]) == ["SnapshotHeader", *quorum, "SnapshotFooter"]
    assert control(printed[str(files[3])]) == ["SnapshotHeader", "SnapshotFooter"]
    for path, partitions in ((log, 4), (snapshot, 3)):
        records = payloads(printed[str(path)])
        assert next(each for each in records if each["type"] == "PARTITION_RECORD")["data"]["replicas"] == [1]
        assert sum(each["type"] == "PARTITION_RECORD" for each in records) == partitions
        orders = {"name": "orders", "topicId": format_uuid(topic_id)}
        assert {"type": "TOPIC_RECORD", "version": 0, "data": orders} in records
    levels = [each["data"] for each in payloads(printed[str(files[3])])]
    assert levels[0] == {"name": "metadata.version", "featureLevel": LATEST_METADATA_VERSION}

    assert shell(jars, snapshot, "ls", "/image/topics/byName") == ["orders"]
    assert shell(jars, snapshot, "ls", f"/image/topics/byId/{format_uuid(topic_id)}")[:3] == ["0", "1", "2"]


def test_apaches_broker_goes_on_with_our_directory(jars: Path, tmp_path: Path) -> None:
    """A directory that we formatted and wrote to is used by Apache's broker, and then by us again."""
    directory = tmp_path / "ours"
    format_ours(directory, standalone=False)
    with our_controller(directory, is_static=True) as node:
        node.register_broker()
        node.create_topic("ours", 2, retention_ms="1234")
        node.take_snapshot()
        node.create_topic("later", 1)
    with running_broker(jars, directory) as bootstrap:
        topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=WAIT_SECONDS_MAX).topics
        assert {"ours", "later"} <= set(topics)
        assert len(topics["ours"].partitions) == 2
        create(bootstrap, "apaches")
    assert topic_names(directory) == ["apaches", "later", "ours"]


def test_we_go_on_with_apaches_directory_and_give_it_back(jars: Path, apache_directory: ApacheDirectory) -> None:
    directory = apache_directory.path
    before = topic_names(directory)
    assert set(apache_directory.expected) <= set(before)
    with our_controller(directory, is_static=True) as node:
        assert node.loaded.election.leader_id == 1
        image = node.follower.image
        assert image.metadata_version == LATEST_METADATA_VERSION
        node.take_snapshot()
    with our_controller(directory, is_static=True) as node:
        again = node.follower.image
        assert (again.topics, again.configs, again.features) == (image.topics, image.configs, image.features)
    with running_broker(jars, directory) as bootstrap:
        topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=WAIT_SECONDS_MAX).topics
        assert set(before) <= set(topics)
        create(bootstrap, "again")
    assert topic_names(directory) == sorted([*before, "again"])


def test_we_begin_on_what_apaches_tool_formatted(jars: Path, tmp_path: Path) -> None:
    """A directory with static voters, and one with a dynamic voter, which the first snapshot names."""
    static = tmp_path / "static"
    format_directory(jars, static)
    fs = PosixFileSystem()
    assert bootstrap_metadata_version(read_bootstrap(fs, str(static))) == LATEST_METADATA_VERSION
    fs.close()
    assert topic_names(static) == []
    dynamic = tmp_path / "dynamic"
    properties = tmp_path / "dynamic.properties"
    lines = static.with_suffix(".properties").read_text().replace(str(static), str(dynamic))
    properties.write_text(re.sub("(?m)^controller.quorum.voters=1@", "controller.quorum.bootstrap.servers=", lines))
    arguments = ["format", "-t", CLUSTER_ID, "-c", str(properties), "--standalone"]
    run_tool(jars, "kafka.tools.StorageTool", *arguments)
    with our_controller(dynamic) as node:
        assert node.loaded.history.kraft_version == 1
        assert node.quorum.epoch == 1
    with our_controller(dynamic) as node:
        assert node.quorum.epoch == 2
        assert node.loaded.history.voters_offset == 2, "the first leader wrote the voters into the log"
