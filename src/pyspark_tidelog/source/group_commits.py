"""Commits the offsets of finished batches to a consumer group (`commitOffsetsToGroup`), so that any Kafka tool shows
the query's lag. The group has no members and Spark never reads it: the checkpoint alone says where a query goes on.

This must cost the query nothing, whatever the coordinator does. So a thread of its own talks to the cluster, over a
connection of its own, and commits only the newest offsets: if it cannot keep up, those between are skipped. A commit
that fails is logged, once until one works again, and tried again with the next batch.
"""

import logging
import threading
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.kafka.offsets import Offsets
from pyspark_tidelog.kafka.settings import ClusterOptions
from tidelog.client.errors import ClientError

if TYPE_CHECKING:
    from tidelog.client.admin.admin_client import Admin

LOGGER: Final = logging.getLogger("pyspark_tidelog")
STOP_PATIENCE_S: Final = 5.0


class GroupCommits:
    """The commits of one query to one group, and the thread that makes them."""

    def __init__(self, cluster: ClusterOptions, group_id: str) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._changed = threading.Condition()
        self._wanted: Offsets | None = None
        self._finished: Offsets = {}  # those of the last call of `finished`
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._is_failing = False

    def __reduce__(self) -> tuple[type["GroupCommits"], tuple[ClusterOptions, str]]:
        """Pickle the settings only: the copy of a reader in a task has a GroupCommits too, and never uses it."""
        return GroupCommits, (self._cluster, self._group_id)

    def finished(self, offsets: Offsets) -> None:
        """Have the thread commit these offsets, before which the query needs nothing any more. Returns at once."""
        if offsets == self._finished:
            return
        with self._changed:
            self._finished = self._wanted = dict(offsets)
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"commits to {self._group_id}", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread, and wait up to STOP_PATIENCE_S for its last commit."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(STOP_PATIENCE_S)

    def _run(self) -> None:
        from tidelog.client.admin.admin_client import Admin  # not for the readers' copies in tasks, which only read

        with self._cluster.connect(is_patient=True) as client:
            admin = Admin(client)
            while (offsets := self._next()) is not None:
                try:
                    self._commit(admin, offsets)
                except ClientError as error:
                    self._tell(str(error))

    def _next(self) -> Offsets | None:
        with self._changed:
            self._changed.wait_for(lambda: self._wanted is not None or self._is_stopping)
            offsets, self._wanted = self._wanted, None
            return offsets

    def _commit(self, admin: "Admin", offsets: Offsets) -> None:
        outcomes = admin.alter_group_offsets(self._group_id, offsets)
        failures = [error for error in outcomes.values() if error is not None]
        if failures:
            self._tell(str(failures[0]))
        else:
            self._is_failing = False

    def _tell(self, why: str) -> None:
        if not self._is_failing:
            text = "offsets are not committed to group %s, and the query goes on: %s"
            LOGGER.warning(text, self._group_id, why)
        self._is_failing = True
