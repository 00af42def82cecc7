"""A registry of its own for each test: answers are kept for as long as the process lives, by address."""

from collections.abc import Iterator

import pytest
from tests.unit.pyspark_tidelog.decoding.fake_registry import FakeRegistry, serving


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    pytest.importorskip("confluent_kafka.schema_registry")
    with serving() as found:
        yield found
