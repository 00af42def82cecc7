"""The owner of a log directory, and whether several directories belong together."""

import pytest
from tests.unit.storage.power import machine, worlds_after_a_cut

from tidelog.model.ids import NodeId, Uuid, parse_uuid
from tidelog.storage.checkpoints.errors import CorruptMetaPropertiesError
from tidelog.storage.checkpoints.meta_properties import (
    MetaProperties,
    check_directories,
    decode_meta_properties,
    encode_meta_properties,
    read_meta_properties,
    write_meta_properties,
)

ID = parse_uuid("UgKgSvIBSB2kmnBgAZQ5rw")
OTHER_ID = parse_uuid("JgxuGe9URy-E-ceaL04lEw")
OURS = MetaProperties(1, "cluster", NodeId(5), ID)


def test_read_as_written() -> None:
    fs = machine()
    assert read_meta_properties(fs, "/disk") is None
    write_meta_properties(fs, "/disk", OURS)
    assert read_meta_properties(fs, "/disk") == OURS


def test_version_0_says_broker_id_and_may_lack_everything() -> None:
    assert decode_meta_properties(b"broker.id=3\n", "it") == MetaProperties(0, None, NodeId(3))
    assert decode_meta_properties(b"node.id=3\n", "it") == MetaProperties(0)
    assert decode_meta_properties(b"", "it") == MetaProperties(0)
    assert encode_meta_properties(MetaProperties(0, None, NodeId(3))) == b"version=0\nbroker.id=3\n"


def test_the_highest_node_id() -> None:
    highest = MetaProperties(cluster_id="c", node_id=NodeId(2**31 - 1))
    assert encode_meta_properties(highest) == b"version=1\ncluster.id=c\nnode.id=2147483647\n"
    assert decode_meta_properties(encode_meta_properties(highest), "it") == highest


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (b"version=1\nnode.id=1\n", "cluster.id"),
        (b"version=1\ncluster.id=c\nbroker.id=1\n", "node.id"),
        (b"version=2\ncluster.id=c\nnode.id=1\n", "version"),
        (b"version=\ncluster.id=c\nnode.id=1\n", "version"),
        (b"version=1\ncluster.id=c\nnode.id=x\n", "node.id"),
        (b"version=1\ncluster.id=c\nnode.id=-1\n", "node.id"),
        (b"version=1\ncluster.id=c\nnode.id=2147483648\n", "node.id"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=short\n", "UUID"),
        (b"version=1\ncluster.id=\\u12\n", "line 2"),
    ],
)
def test_a_damaged_one_is_a_typed_error(contents: bytes, reason: str) -> None:
    with pytest.raises(CorruptMetaPropertiesError, match=reason) as caught:
        decode_meta_properties(contents, "/disk/meta.properties")
    assert caught.value.path == "/disk/meta.properties"


@pytest.mark.parametrize("incomplete", [MetaProperties(1, None, NodeId(1)), MetaProperties(1, "c")])
def test_an_incomplete_one_is_not_written(incomplete: MetaProperties) -> None:
    with pytest.raises(ValueError, match="version 1"):
        encode_meta_properties(incomplete)


def test_directories_of_one_node_belong_together() -> None:
    check_directories({"/a": OURS, "/b": MetaProperties(1, "cluster", NodeId(5), OTHER_ID)}, "cluster", NodeId(5))
    check_directories({"/a": OURS, "/b": MetaProperties(0)})
    check_directories({})


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (MetaProperties(1, "another", NodeId(5), OTHER_ID), "cluster.id"),
        (MetaProperties(1, "cluster", NodeId(6), OTHER_ID), "node.id"),
        (MetaProperties(1, "cluster", NodeId(5), ID), "directory.id of /a"),
        (MetaProperties(1, "cluster", NodeId(5), Uuid(bytes(15) + b"\x63")), "reserved"),
    ],
)
def test_directories_that_do_not(second: MetaProperties, reason: str) -> None:
    with pytest.raises(CorruptMetaPropertiesError, match=reason) as caught:
        check_directories({"/a": OURS, "/b": second})
    assert caught.value.path == "/b/meta.properties"


def test_the_first_id_that_is_not_reserved() -> None:
    check_directories({"/a": MetaProperties(1, "cluster", NodeId(5), Uuid(bytes(15) + b"\x64"))})


@pytest.mark.parametrize(("cluster_id", "node_id"), [("another", NodeId(5)), ("cluster", NodeId(6))])
def test_a_directory_of_somebody_else(cluster_id: str, node_id: NodeId) -> None:
    with pytest.raises(CorruptMetaPropertiesError):
        check_directories({"/a": OURS}, cluster_id, node_id)


def test_a_crash_leaves_the_old_or_the_new() -> None:
    new = MetaProperties(1, "cluster", NodeId(5), OTHER_ID)
    worlds = worlds_after_a_cut(
        lambda fs: write_meta_properties(fs, "/disk", OURS), lambda fs: write_meta_properties(fs, "/disk", new)
    )
    for fs, completed in worlds:
        found = read_meta_properties(fs, "/disk")
        assert found == new or (found == OURS and not completed)
