"""What a task sees of `spark.speculation`: Spark's settings are among the properties of its job."""

from collections.abc import Iterator

import pytest
from pyspark import TaskContext

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.sink.speculation import refuse_in_task


@pytest.fixture
def properties() -> Iterator[dict[str, str]]:
    """Of the job that this process runs a task of."""
    context = TaskContext._getOrCreate()
    found: dict[str, str] = {}
    context._localProperties = found
    yield found
    TaskContext._setTaskContext(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["true", "TRUE", " true "])
def test_speculation_is_refused(properties: dict[str, str], value: str) -> None:
    properties["spark.speculation"] = value
    with pytest.raises(OptionError, match=r"^spark.speculation: .*; set it to false, or choose deliveryGuarantee"):
        refuse_in_task()


@pytest.mark.parametrize("value", [None, "false"])
def test_without_it_nothing_is_refused(properties: dict[str, str], value: str | None) -> None:
    if value is not None:
        properties["spark.speculation"] = value
    refuse_in_task()


def test_there_is_no_task_in_tests_of_tasks() -> None:
    refuse_in_task()
