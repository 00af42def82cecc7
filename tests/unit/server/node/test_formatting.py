"""Formatting: which files are written, and what is refused."""

from typing import Any

import pytest

from tidelog.metadata.bootstrap import bootstrap_metadata_version
from tidelog.metadata.feature_levels import KRAFT_VERSION, LATEST_METADATA_VERSION, METADATA_VERSION
from tidelog.model.ids import NodeId, Uuid, parse_uuid
from tidelog.protocol.control_records import KRaftVersionRecord, VotersRecord
from tidelog.raft.voters import VoterEndpoint
from tidelog.server.metadata_log.bootstrap_checkpoint import BOOTSTRAP_CHECKPOINT, read_bootstrap
from tidelog.server.metadata_log.snapshots import BOOTSTRAP_SNAPSHOT, check_snapshot, snapshot_path
from tidelog.server.node.formatting import FormatError, FormatReport, FormatRequest, format_log_dirs
from tidelog.sim.clock import SimClock
from tidelog.sim.entropy import SimEntropy
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.meta_properties import MetaProperties, read_meta_properties, write_meta_properties

ENDPOINT = VoterEndpoint("CONTROLLER", "localhost", 9093)
ONE, TWO = "/disk/a/one", "/disk/two"
METADATA = f"{ONE}/__cluster_metadata-0"
DIRECTORY_ID = "ZGRkZGRkZGRkZGRkZGRkZA"


@pytest.fixture
def fs() -> SimFileSystem:
    return SimFileSystem(SimClock(), seed=1)


def request(**changes: Any) -> FormatRequest:
    fields: dict[str, Any] = {
        "cluster_id": "cluster",
        "node_id": NodeId(1),
        "log_dirs": [ONE, TWO],
        "metadata_log_dir": ONE,
        "is_controller": True,
        "has_static_voters": True,
        "controller_endpoint": ENDPOINT,
    }
    return FormatRequest(**(fields | changes))


def run(fs: SimFileSystem, **changes: Any) -> FormatReport:
    return format_log_dirs(fs, SimEntropy(fs.trace.count), request(**changes), 1_700_000_000_000)


def test_every_directory_gets_its_own_id_and_the_bootstrap_records(fs: SimFileSystem) -> None:
    report = run(fs)
    assert report.formatted == [ONE, TWO]
    assert (report.levels[METADATA_VERSION], report.levels[KRAFT_VERSION]) == (LATEST_METADATA_VERSION, 0)
    found = [read_meta_properties(fs, path) for path in (ONE, TWO)]
    assert [(each.version, each.cluster_id, each.node_id) for each in found if each] == [(1, "cluster", 1)] * 2
    assert len({each.directory_id for each in found if each}) == 2
    for path in (ONE, TWO):
        assert bootstrap_metadata_version(read_bootstrap(fs, path)) == LATEST_METADATA_VERSION
    assert "__cluster_metadata-0" not in fs.list_directory(ONE)


def test_a_standalone_controller_is_its_only_voter(fs: SimFileSystem) -> None:
    report = run(fs, has_static_voters=False, standalone=True)
    assert report.levels[KRAFT_VERSION] == 1
    _, version, voters, _ = check_snapshot(fs, snapshot_path(METADATA, BOOTSTRAP_SNAPSHOT))
    assert isinstance(version, KRaftVersionRecord)
    assert version.kraft_version == 1
    assert isinstance(voters, VotersRecord)
    meta = read_meta_properties(fs, ONE)
    assert meta is not None
    assert [(each.voter_id, each.voter_directory_id) for each in voters.voters] == [(1, meta.directory_id)]
    assert "__cluster_metadata-0" not in fs.list_directory(TWO)


def test_an_initial_controller_gets_the_directory_id_that_the_others_know(fs: SimFileSystem) -> None:
    run(fs, has_static_voters=False, initial_controllers=f"1@localhost:9093:{DIRECTORY_ID}")
    meta = read_meta_properties(fs, ONE)
    assert meta is not None
    assert meta.directory_id == parse_uuid(DIRECTORY_ID)


def test_without_initial_controllers_there_is_no_snapshot(fs: SimFileSystem) -> None:
    report = run(fs, has_static_voters=False, no_initial_controllers=True)
    assert report.levels[KRAFT_VERSION] == 1
    assert "__cluster_metadata-0" not in fs.list_directory(ONE)


def test_a_release_version_and_features(fs: SimFileSystem) -> None:
    report = run(fs, release_version="3.9-IV0", features={"eligible.leader.replicas.version": 0})
    assert report.levels[METADATA_VERSION] == 21
    assert bootstrap_metadata_version(read_bootstrap(fs, ONE)) == 21


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node_id": NodeId(-1)}, "node.id"),
        ({"cluster_id": " "}, "cluster id"),
        ({"log_dirs": []}, "no log directory"),
        ({"metadata_log_dir": "/disk/elsewhere"}, "not among"),
        ({"standalone": True}, "controller.quorum.voters"),
        ({"initial_controllers": f"1@h:1:{DIRECTORY_ID}"}, "controller.quorum.voters"),
        ({"has_static_voters": False}, "one of --standalone"),
        ({"has_static_voters": False, "is_controller": False, "standalone": True}, "is for a controller"),
        ({"has_static_voters": False, "standalone": True, "no_initial_controllers": True}, "exclude each other"),
        ({"has_static_voters": False, "initial_controllers": "1@h:1"}, "id@host:port:directory"),
        ({"has_static_voters": False, "initial_controllers": "1@h:1:AAAAAAAAAAAAAAAAAAAAAQ"}, "reserved"),
        ({"release_version": "9.9"}, "unknown metadata.version"),
        ({"release_version": "4.3", "features": {METADATA_VERSION: 30}}, "give one"),
        ({"features": {METADATA_VERSION: 99}}, "99"),
        ({"features": {"no.such.version": 1}}, "no.such.version"),
        ({"features": {KRAFT_VERSION: 1}}, "dynamic voters"),
        ({"has_static_voters": False, "standalone": True, "features": {KRAFT_VERSION: 0}}, "static voters"),
    ],
)
def test_what_is_refused_before_anything_is_written(fs: SimFileSystem, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        run(fs, **changes)
    assert fs.list_directory("/disk") == []


def test_a_formatted_directory_is_left_alone(fs: SimFileSystem) -> None:
    run(fs, log_dirs=[ONE])
    before = read_meta_properties(fs, ONE)
    with pytest.raises(FormatError, match="--ignore-formatted"):
        run(fs)
    report = run(fs, ignore_formatted=True)
    assert (report.formatted, report.already_formatted) == ([TWO], [ONE])
    assert read_meta_properties(fs, ONE) == before
    assert run(fs, ignore_formatted=True).formatted == []


@pytest.mark.parametrize(
    "other",
    [
        MetaProperties(1, "another", NodeId(1), Uuid(b"x" * 16)),
        MetaProperties(1, "cluster", NodeId(2), Uuid(b"x" * 16)),
    ],
)
def test_another_clusters_or_nodes_directory_is_refused(fs: SimFileSystem, other: MetaProperties) -> None:
    fs.make_directory(TWO)
    write_meta_properties(fs, TWO, other)
    with pytest.raises(FormatError, match="was expected; it is formatted already"):
        run(fs, ignore_formatted=True)


def test_a_directory_that_can_not_be_read_is_told_and_the_others_formatted(fs: SimFileSystem) -> None:
    fs.make_directory(TWO)
    fs.disk("/disk").faults.fail(Op.OPEN, TWO)
    report = run(fs)
    assert report.formatted == [ONE]
    assert len(report.unreadable) == 1
    assert TWO in report.unreadable[0]


def test_meta_properties_come_last(fs: SimFileSystem) -> None:
    """A format that was cut off then counts as none."""
    fs.disk("/disk").faults.fail(Op.SYNC, f"{ONE}/meta.properties.tmp")
    with pytest.raises(FormatError, match="could not be formatted"):
        run(fs)
    assert BOOTSTRAP_CHECKPOINT in fs.list_directory(ONE)
    assert read_meta_properties(fs, ONE) is None
    assert run(fs).formatted == [ONE, TWO]
