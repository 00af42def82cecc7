"""Fetch what the tests compare with, into the cache, before they come to it: `python -m tools.fetch`.

Apache Kafka with an archive of its classes, kafka-python's own tests, Spark's Kafka connector, and the newest PySpark.
A test that finds one of them missing fetches it itself, while everybody waits who needs it too; and what can not be had
is said by the tests, each in its own words. So nothing that goes wrong here is an error.
"""

import sys
from collections.abc import Callable

from tests.interop.apache.class_archive import archived_jars
from tests.spark.connector_jars import connector_jars
from tests.spark.spark_releases import allowed_minors, installed, locks
from tests.support.kafka_python_suite import fetch_suite


def newest_spark() -> object:
    return installed(locks()[allowed_minors()[-1]])


STEPS: tuple[Callable[[], object], ...] = (archived_jars, fetch_suite, connector_jars, newest_spark)


def main() -> None:
    for step in STEPS:
        try:
            step()
        except Exception as missing:  # noqa: BLE001 (whatever it is, the test that needs it comes upon it, too)
            print(f"{step.__name__}: {missing}", file=sys.stderr)


if __name__ == "__main__":
    main()
