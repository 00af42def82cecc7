"""Topics archived as Parquet: the task that fetches the records writes the file, and no record crosses into the JVM.

    start_archive(spark, "/lake/events", checkpoint="/state/events", options={
        "kafka.bootstrap.servers": "localhost:9092", "subscribe": "purchases"})

What lies in the directory:

    topic=T/partition=P/<from>-<until>.parquet   records of these offsets, `until` not included; never changed again
    _tidelog/staging/<name>/                     files of tasks, not committed
    _tidelog/intents/<name>.<batch>.json         a batch that is decided on, while its files are moved into place
    _tidelog/manifests/<name>/<batch>.json       a batch that is done: what it wrote, and where it came from

Spark and pyarrow pass over names that begin with an underscore, so that a reader of the directory sees what is decided
on and nothing else. The order in which things become durable is in committing.py.

Rows of a DataFrame get into a directory of the same kind with `write_batch`, beside `write_exactly_once` (rows.py).
"""

from pyspark_tidelog.lake.archiving import archive, commit_batches, start_archive
from pyspark_tidelog.lake.auditing import archived_until, audit
from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.rows import write_batch

__all__ = ["archive", "start_archive", "commit_batches", "write_batch", "audit", "archived_until", "LakeError"]
