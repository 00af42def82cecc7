import json

import pytest

from tidelog.cli.output.rows import flag, ids, number, show_rows, size, text

COLUMNS = {"topic": text, "replicas": ids, "lag": number, "is_internal": flag}
ROW = {"topic": "a[b]", "replicas": [1, 2], "lag": -1, "is_internal": False, "unseen": 1}


def test_json_has_everything_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([ROW, ROW], COLUMNS, as_json=True)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [ROW, ROW]
    show_rows([], COLUMNS, as_json=True)
    assert capsys.readouterr().out == ""


def test_a_table_in_a_pipe_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([ROW, {**ROW, "topic": "long " * 40}], COLUMNS, as_json=False)
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["topic", "replicas", "lag", "is", "internal"]
    assert first.split() == ["a[b]", "1,2", "-", "no"]
    assert second.startswith("long " * 40)


def test_nothing_is_said_to_be_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([], COLUMNS, as_json=False, empty="no topics")
    assert capsys.readouterr().out == "no topics\n"


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert "\x1b" not in text("\x1b[31m")


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (104_857_600, "100 MiB"), (-1, "-"),
     (3 << 40, "3.0 TiB")],
)  # fmt: skip
def test_sizes(size_bytes: int, shown: str) -> None:
    assert size(size_bytes) == shown
