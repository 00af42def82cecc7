"""The transactional ids of one writer: a query, or one of the names that a query writes under.

    <prefix>-<query>[.<name>]-<digest>-driver
    <prefix>-<query>[.<name>]-<digest>-<run>-<batch mod 2>-<task>[-<task attempt>]

The names are there for people and for ACLs. The digest of prefix, query and name tells writers apart: the name "orders"
is the beginning of "orders-eu", and all characters that an id may not have look the same in it. The form must stay the
same between versions, because a restarted query looks for the transactions that the last run left. Ids without a digest
come from the previous version; the patterns here match them as a whole.
"""

import hashlib
import json
import re
from typing import Final, NamedTuple

from pyspark_tidelog.sink.decisions import RUN_CHARACTERS, Decision, short_run
from pyspark_tidelog.sink.ledger_records import encode_key

DRIVER: Final = "driver"
DIGEST_CHARACTERS: Final = 12
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]")
_TASK: Final = rf"([0-9a-f]{{{RUN_CHARACTERS}}})-[01]-[0-9]+(?:-[0-9]+)?"


class TransactionalIds(NamedTuple):
    prefix: str
    query_id: str
    name: str = ""

    @property
    def driver(self) -> str:
        return f"{self._start}{DRIVER}"

    def task(self, run_id: str, batch_id: int, partition: int, task_attempt_id: int | None = None) -> str:
        """Return the id of a task. A run has two ids for each partition, which even and odd batches use in turn (see
        `two_phase`). An id with `task_attempt_id` is for a task that finds its partition's id in use."""
        suffix = "" if task_attempt_id is None else f"-{task_attempt_id}"
        return f"{self._start}{short_run(run_id)}-{batch_id % 2}-{partition}{suffix}"

    @property
    def pattern(self) -> str:
        """The regular expression (RE2) by which a broker finds the ids of this writer's tasks, of this version and the
        previous one."""
        return f"^(?:{self._tasks}|{self._former_tasks})$"

    def run_of(self, transactional_id: str) -> str | None:
        """Return the run, shortened, whose task has the id; None where the id is not of a task of this writer."""
        found = re.fullmatch(self._tasks, transactional_id) or re.fullmatch(self._former_tasks, transactional_id)
        return None if found is None else found[1]

    @property
    def ledger_key(self) -> bytes:
        return encode_key(self.prefix, self.query_id, self.name)

    def __str__(self) -> str:
        """Return the writer's name as errors and logs show it."""
        return f"{self.query_id}.{self.name}" if self.name else self.query_id

    @property
    def _start(self) -> str:
        key = json.dumps([self.prefix, self.query_id, self.name], ensure_ascii=True).encode()
        digest = hashlib.sha256(key).hexdigest()[:DIGEST_CHARACTERS]
        return f"{self.prefix}-{clean_id(str(self))}-{digest}-"

    @property
    def _tasks(self) -> str:
        return re.escape(self._start) + _TASK

    # The ids and keys of the previous version

    @property
    def former_ledger_key(self) -> bytes:
        return clean_id(str(self)).encode()

    @property
    def former_driver(self) -> str:
        return f"{self.prefix}-{clean_id(str(self))}-{DRIVER}"

    def is_ours(self, former: Decision) -> bool:
        """Tell whether a decision under the former key, which does not name the prefix, is of this writer."""
        pattern = re.compile(self._former_tasks)
        return all(pattern.fullmatch(each.transactional_id) for each in former.transactions)

    @property
    def _former_tasks(self) -> str:
        return re.escape(f"{self.prefix}-{clean_id(str(self))}-") + _TASK


def clean_id(name: str) -> str:
    """Replace every character that is not fit for a transactional id, and for the regular expression that finds it."""
    return _NOT_IN_IDS.sub("_", name)
