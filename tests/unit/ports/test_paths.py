import pytest

from tidelog.ports.paths import check_path, check_rename, join, name_of, parent_of


@pytest.mark.parametrize("path", ["/", "/a", "/a/b.log", "/var/lib/tide log/.lock", "/a/...", "/ä"])
def test_absolute_normal_paths_pass(path: str) -> None:
    check_path(path)


@pytest.mark.parametrize("path", ["", "a", "a/b", "//", "/a/", "//a", "/a//b", "/.", "/..", "/a/../b", "/a\0b"])
def test_others_do_not(path: str) -> None:
    with pytest.raises(ValueError, match="absolute, normal"):
        check_path(path)


def test_taking_apart_and_putting_together() -> None:
    for path in ("/a", "/a/b", "/a/b/c.log"):
        assert join(parent_of(path), name_of(path)) == path
    assert (parent_of("/a/b"), name_of("/a/b"), parent_of("/a"), parent_of("/")) == ("/a", "b", "/", "/")


def test_a_rename_into_itself_is_a_bug() -> None:
    check_rename("/a", "/ab")
    check_rename("/a", "/a")
    with pytest.raises(ValueError, match="into itself"):
        check_rename("/a", "/a/b")
    with pytest.raises(ValueError, match="absolute"):
        check_rename("/a", "b")
