"""The rules of names and prose that a machine can check (`tools/prose.py`): the tree keeps them, and a break of each is
found."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import prose, prose_names

# What is still to be repaired, a line each, without path and line. Nothing is added here: a new finding is repaired.
RATCHET = frozenset(Path(__file__).with_name("prose_ratchet.txt").read_text().splitlines())


def test_the_tree_keeps_the_rules() -> None:
    found = [each for path in prose_names.SOURCES for each in prose.findings(path) if each.text not in RATCHET]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(
    "text",
    [
        "Of one query.",
        "Whether every bar is met.",
        "Was it here before?",
        "Waits so many seconds for a signal.",
        "`faults`: what is wrong with the results.",
        "None: it does not count.",
    ],
)
def test_a_fragment_is_found(text: str) -> None:
    assert prose.is_fragment(text, is_class=False)


@pytest.mark.parametrize(
    ("text", "is_class"),
    [
        ("Return the decisions of one query, newest last.", False),
        ("The offset that comes next.", False),
        ("Do nothing: there are no sessions here.", False),
        ("What is left of a transaction.", True),
    ],
)
def test_a_sentence_is_none(text: str, is_class: bool) -> None:
    assert not prose.is_fragment(text, is_class=is_class)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a package in a tree of its own, which is the root of everything that names may stand for."""
    package = tmp_path / "src" / "tidelog" / "book"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "chapter.py").write_text("class Chapter:\n    pages: int\n\n    def turn(self) -> None: ...\n")
    monkeypatch.setattr(prose_names, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose_names, "IMPORT_ROOTS", (tmp_path / "src", tmp_path))
    prose_names.find_module.cache_clear()
    yield package
    prose_names.find_module.cache_clear()


def findings(package: Path, text: str) -> list[str]:
    module = package / "reader.py"
    module.write_text(text)
    prose_names.module.cache_clear()
    return [each.text for each in prose.findings(module)]


@pytest.mark.parametrize(
    "name",
    [
        "Chapter",
        "Chapter.turn",
        "chapter",
        "book.chapter",
        "chapter.Chapter.pages",
        "chapter.py",
        "book/chapter.py",
        "os.path.join",
        "read",
        "log.segment.bytes",
        "a command --with an option",
    ],
)
def test_a_name_that_is_there_resolves(tree: Path, name: str) -> None:
    text = f"import os\nfrom tidelog.book.chapter import Chapter\n\ndef read(): # see `{name}`\n    return Chapter\n"
    assert findings(tree, text) == []


@pytest.mark.parametrize(
    "name",
    [
        "Paragraph",
        "Chapter.tear",
        "section",
        "book.section",
        "chapter.Chapter.lines",
        "section.py",
        "os.path.joint",
        "wrote",
    ],
)
@pytest.mark.parametrize(
    "text", ['"""See `{name}`."""\n', "# See `{name}`.\n", 'def read():\n    """Read `{name}`."""\n']
)
def test_a_name_that_is_not_there_is_found(tree: Path, name: str, text: str) -> None:
    text = f"{text.format(name=name)}import os\nfrom tidelog.book.chapter import Chapter\n"
    assert findings(tree, text) == [f"`{name}` resolves to nothing"]


def test_the_name_of_a_module_elsewhere_is_no_word_for_it(tree: Path) -> None:
    """A word that only occurs somewhere in the tree resolves nothing: what was renamed is still talked of."""
    (tree.parent / "shop").mkdir()
    (tree.parent / "shop/till.py").write_text("def ring(): ...\n")
    assert findings(tree, "# See `ring`.\n") == ["`ring` resolves to nothing"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("class Asked: ...\n", "Asked"),
        ("class LogManager: ...\n", "LogManager"),
        ("class LogImpl: ...\n", "LogImpl"),
        ("def go(place): ...\n", "place"),
        ("by_place = {}\n", "by_place"),
        ("def _cut(log): ...\n", "_cut"),
        ("class Log:\n    def go(self):\n        self.cuts = 1\n", "cuts"),
    ],
)
def test_a_banned_name_is_found(tree: Path, text: str, name: str) -> None:
    (finding,) = findings(tree, text)
    assert finding.startswith(f"{name}: ")


@pytest.mark.parametrize("text", ["def replace(): ...\n", "shortcut = 1\n", "def patch_in_place(): ...\n"])
def test_a_word_that_only_looks_like_one_is_none(tree: Path, text: str) -> None:
    assert findings(tree, text) == []


def test_a_module_of_anything_is_found(tree: Path) -> None:
    module = tree / "utils.py"
    module.touch()
    assert [each.text for each in prose.findings(module)] == ["utils.py: say what is in it"]
