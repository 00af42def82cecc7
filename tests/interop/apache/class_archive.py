"""An archive of the classes that Apache's broker loads (AppCDS), for all JVMs that run from its jars.

With it a broker takes half the time to start, and half the CPU (2.1 s instead of 4.1 for a start, a group and a stop);
the tools gain as much. It is made once, beside the cached jars, by a broker that a client uses for a moment. A JVM that
can not use it (another Java, other jars) runs without it and prints nothing about it.
"""

import tempfile
from pathlib import Path

from confluent_kafka import Consumer, Producer
from tests.interop.apache.broker import format_directory, running_broker
from tests.interop.apache.jars import archive_path, exclusive, fetch_jars

WAIT_SECONDS_MAX = 60


def archived_jars() -> Path:
    """Return the directory of the jars, as `fetch_jars` does, once the archive of their classes exists too."""
    jars = fetch_jars()
    archive = archive_path(jars)
    with exclusive(archive.with_suffix(".lock")):
        if not archive.exists():
            _make(jars, archive)
    return jars


def _make(jars: Path, archive: Path) -> None:
    """Write the archive under another name first, because a JVM that dies while writing leaves half a file."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        made, directory = Path(scratch) / archive.name, Path(scratch) / "data"
        format_directory(jars, directory)
        with running_broker(jars, directory, jvm=[f"-XX:ArchiveClassesAtExit={made}"]) as bootstrap:
            _use(bootstrap)
        if made.exists():
            made.rename(archive)


def _use(bootstrap: str) -> None:
    """Do what nearly every test does with a broker: produce in a transaction, and consume in a group."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "one"})
    producer.init_transactions(WAIT_SECONDS_MAX)
    producer.begin_transaction()
    producer.produce("any", b"value")
    producer.commit_transaction(WAIT_SECONDS_MAX)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "one", "auto.offset.reset": "earliest"})
    consumer.subscribe(["any"])
    consumer.poll(WAIT_SECONDS_MAX)
    consumer.close()
