"""The Python that README.md and docs/testing.md show is run, so that it stays true."""

import ast
import builtins
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str) -> list[str]:
    return BLOCK.findall((ROOT / name).read_text())


# What Spark runs is compared with programs that are run (tests/unit/examples/test_spark_guide.py).
README = [code for code in blocks("README.md") if not re.search(r"\bspark\.", code)]


@pytest.mark.parametrize("code", README, ids=[f"block {number}" for number in range(1, len(README) + 1)])
@pytest.mark.filterwarnings("ignore:.*is deprecated. Use files:DeprecationWarning")  # kafka-python's
def test_an_example_of_the_readme_runs(code: str, bootstrap: str, topic: str) -> None:
    code = code.replace("localhost:9092", bootstrap).replace('"greetings"', repr(topic))
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


def test_the_readme_shows_three_clients_and_the_testing_kit() -> None:
    for code, package in zip(README, ("confluent_kafka", "kafka", "aiokafka", "tidelog.testing"), strict=True):
        assert re.search(rf"^(from|import) {package}\b", code, re.MULTILINE), code


@pytest.mark.parametrize("code", blocks("docs/testing.md"))
def test_a_piece_of_the_testing_guide_has_its_imports(code: str) -> None:
    tree = ast.parse(code)
    imports = [each for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names]
    known = {each.name.partition(".")[0] for each in imports} | set(dir(builtins))
    known |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    assert {node.id for node in names} <= known


def test_the_first_example_of_the_testing_guide_runs() -> None:
    exec(compile(blocks("docs/testing.md")[0], "docs/testing.md", "exec"), {})
