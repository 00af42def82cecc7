"""The changelog from fragments: what is refused, what the list says, and what a release leaves."""

from datetime import date
from pathlib import Path

import pytest
from tools import changelog

HEAD = "# Changes\n\nFormat: what a user notices, newest first.\n\n"
OLD = "- It was made.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/README.md").write_text("# How\n")
    (tmp_path / "CHANGELOG.md").write_text(f"{HEAD}## Unreleased\n\n{OLD}")
    return tmp_path


def add(root: Path, name: str, text: str) -> None:
    (root / "changes" / name).write_text(text)


def test_the_fragments_of_the_repository_are_in_order() -> None:
    assert changelog.problems(changelog.ROOT) == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("A_name.md", "It is so.\n", "name it"),
        ("one.md", "It is so.\n", "name it"),
        ("a-name.txt", "It is so.\n", "name it"),
        ("a-name.md", "\n", "it is empty"),
        ("a-name.md", "- It is so.\n", "without a bullet"),
        ("a-name.md", "It is so.\n\nAnd so.\n", "one paragraph"),
        ("a-name.md", "It is so\n", "full stop"),
    ],
)
def test_a_fragment_out_of_order_is_named(
    root: Path, name: str, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add(root, name, text)
    (found,) = changelog.problems(root)
    assert found.startswith(f"changes/{name}: ")
    assert problem in found
    assert changelog.main(["--check"], root) == 1
    assert changelog.main(["--release", "0.2.0"], root) == 1
    assert problem in capsys.readouterr().err


def test_what_is_unreleased_is_fragments_and_then_what_was_written(root: Path) -> None:
    add(root, "b-two.md", "Topics are made\nat once.\n")
    add(root, "a-one.md", f"It {'goes on ' * 20}and ends.\n")
    assert changelog.main(["--check"], root) == 0
    lines = changelog.unreleased(root).splitlines()
    assert lines[0].startswith("- It goes on")
    assert lines[1].startswith("  ")
    assert max(map(len, lines)) <= changelog.WIDTH
    assert lines[-2:] == ["- Topics are made at once.", OLD.strip()]


def test_a_release_moves_everything_under_its_version(root: Path) -> None:
    path = root / "CHANGELOG.md"
    path.write_text(f"{path.read_text()}\n## 0.1.0 (2025-01-01)\n\n- The first one.\n")
    add(root, "a-one.md", "It is new.\n")
    changelog.release(root, "0.2.0", date(2026, 2, 3))
    assert path.read_text() == (
        f"{HEAD}## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n- It is new.\n{OLD}\n"
        "## 0.1.0 (2025-01-01)\n\n- The first one.\n"
    )
    assert changelog.fragments(root) == []
    assert (root / "changes/README.md").exists()
    add(root, "a-two.md", "It is newer.\n")
    assert changelog.unreleased(root) == "- It is newer."


def test_a_version_has_three_numbers(root: Path) -> None:
    with pytest.raises(SystemExit):
        changelog.main(["--release", "next"], root)
