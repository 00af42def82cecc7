"""The records of the ledger: one for each query, keyed by who writes, with the query's last decision (docs/adr/0018).

Version 1, which did not name the checkpoint or the offsets of the batch, is still read. Its key was the query alone, so
two jobs with different transactional prefixes shared a record, and so did names that look the same when cleaned.
"""

import json
from typing import Any, Final

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.decisions import Decision, Origin, Transaction

VERSION: Final = 2
VERSION_MIN: Final = 1


def encode(decision: Decision) -> bytes:
    fields = {
        "version": VERSION,
        "batch": decision.batch_id,
        "run": decision.run_id,
        "transactions": [list(each) for each in decision.transactions],
        "checkpoint": decision.origin.checkpoint_id,
        "offsets": decision.origin.digest,
        "former_runs": list(decision.former_runs),
        "topics": dict(decision.topic_ids),
        "sources": dict(decision.source_ids),
    }
    return _compact(fields)


def decode(value: bytes) -> Decision:
    try:
        found = json.loads(value)
        if not VERSION_MIN <= found["version"] <= VERSION:
            raise ValueError(f"version {found['version']}")
        listed = tuple(Transaction(str(name), int(id_), int(epoch)) for name, id_, epoch in found["transactions"])
        decision = Decision(int(found["batch"]), str(found["run"]), listed)
        return decision if found["version"] == VERSION_MIN else _with_origin(decision, found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the ledger has a record that is not understood ({error})"
        step = "was it written by a newer version, or by something else? give this job a ledgerTopic of its own"
        raise SinkError(what, "", step) from None


def _with_origin(decision: Decision, found: dict[str, Any]) -> Decision:
    return decision._replace(
        origin=Origin(str(found["checkpoint"]), str(found["offsets"])),
        former_runs=tuple(map(str, found["former_runs"])),
        topic_ids={str(topic): str(topic_id) for topic, topic_id in found["topics"].items()},
        source_ids={str(topic): str(topic_id) for topic, topic_id in found["sources"].items()},
    )


def encode_key(prefix: str, query_id: str, name: str) -> bytes:
    """Return the key of a writer's record: a JSON list, so that no two writers share a key, whatever characters their
    names have."""
    return _compact([prefix, query_id, name])


def writer_of(key: bytes) -> tuple[str, str, str] | None:
    """Return the prefix, query and name in a key; None for a key of version 1, which is no list."""
    try:
        found = json.loads(key)
    except ValueError:
        return None
    if not isinstance(found, list) or len(found) != 3 or not all(isinstance(each, str) for each in found):
        return None
    prefix, query_id, name = found
    return prefix, query_id, name


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
