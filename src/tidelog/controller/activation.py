"""What a controller does first when it has become the active one: a new cluster gets its bootstrap records, and a
metadata transaction that an earlier controller left open is aborted.
"""

from collections.abc import Sequence

from tidelog.controller.features import elr_safety_records
from tidelog.controller.results import Record, Result
from tidelog.controller.state import ControllerState
from tidelog.metadata.bootstrap import bootstrap_metadata_version
from tidelog.metadata.feature_levels import ELIGIBLE_LEADER_REPLICAS_VERSION
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.metadata.record_versions import TRANSACTIONS_FROM
from tidelog.metadata.records.cluster import FeatureLevelRecord
from tidelog.metadata.records.transactions import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord

_ABORT: Record = (AbortTransactionRecord(reason="the controller that began it is gone"), 0)


def activate(state: ControllerState, bootstrap: Sequence[MetadataRecord], now_ms: int) -> Result:
    for broker in state.metadata.brokers.values():
        if not broker.fenced:
            state.sessions.presume(broker.id, broker.epoch, now_ms)
    abort: list[Record] = [_ABORT] if state.metadata.in_transaction else []
    if state.metadata.metadata_version:
        return Result(abort, None)
    first = _first_records(state, bootstrap)
    if bootstrap_metadata_version(bootstrap) < TRANSACTIONS_FROM:
        return Result(first, None)
    # The transaction makes the records take effect together, however many batches they become.
    begin, end = BeginTransactionRecord(name="Bootstrap records"), EndTransactionRecord()
    return Result([*abort, (begin, 0), *first, (end, 0)], None, is_atomic=False)


def _first_records(state: ControllerState, bootstrap: Sequence[MetadataRecord]) -> list[Record]:
    records: list[Record] = list(bootstrap)
    if any(_turns_elr_on(message) for message, _ in bootstrap):
        records += elr_safety_records(state)
    return records


def _turns_elr_on(message: object) -> bool:
    match message:
        case FeatureLevelRecord(name=name, feature_level=level):
            return name == ELIGIBLE_LEADER_REPLICAS_VERSION and level > 0
        case _:
            return False
