"""The package as Spark finds it: quick to import, and nothing heavy until it is used."""

import subprocess
import sys

import pytest

import pyspark_tidelog


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_pure_parts_imports_neither_spark_nor_arrow() -> None:
    found = modules_after("import pyspark_tidelog, pyspark_tidelog.source.options, pyspark_tidelog.source.filters")
    assert "pyspark_tidelog" in found
    assert not found & {"pyspark", "pyarrow", "pandas", "numpy", "py4j", "rich"}


@pytest.mark.parametrize("name", pyspark_tidelog.__all__)
def test_what_users_call_is_at_the_top(name: str) -> None:
    assert getattr(pyspark_tidelog, name).__name__ == name
    assert name in dir(pyspark_tidelog)


def test_there_is_nothing_else_in_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'DefaultSink'"):
        _ = pyspark_tidelog.DefaultSink
