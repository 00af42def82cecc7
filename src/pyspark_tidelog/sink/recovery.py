"""Finishes the commits of drivers that died between their decision and the end of the transactions, and are not started
again. A streaming query finishes its last batch by itself when it is started again; a batch job never is.

    from pyspark_tidelog.sink.recovery import finish_decided
    finish_decided({"kafka.bootstrap.servers": "localhost:9092"})

`finish_decided` commits the transactions of recorded decisions, and nothing else: harmless while queries run, and safe
to repeat.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pyspark_tidelog.errors import told
from pyspark_tidelog.sink.decisions import Decision
from pyspark_tidelog.sink.ledger import decisions
from pyspark_tidelog.sink.options import SinkOptions, sink_options
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from pyspark_tidelog.sink.transactions import QueryTransactions
from pyspark_tidelog.sink.two_phase import Standing
from tidelog.client.client import Client


class Finished(NamedTuple):
    query_id: str
    batch_id: int
    committed: int  # transactions that were open until now
    lost: int  # transactions that were aborted, though they were to be committed


def finish_decided(options: Mapping[str, str]) -> list[Finished]:
    """Finish the last decision of every query and job in the ledger; return those that had open or lost
    transactions."""
    found = sink_options(options)
    with found.cluster.connect() as client, told(f"finish what is decided in {found.ledger_topic}"):
        if not client.has_topic(found.ledger_topic):
            return []
        listed = decisions(client, found.ledger_topic)
        outcomes = [_finish(client, found, name, each) for name, each in listed]
    return [each for each in outcomes if each.committed or each.lost]


def _finish(client: Client, options: SinkOptions, query_id: str, decision: Decision) -> Finished:
    world = QueryTransactions(client, TransactionalIds(options.prefix, query_id), options.ledger_topic)
    before = world.standings(decision.transactions)
    is_open = [each for each in decision.transactions if before[each] is Standing.OPEN]
    after = world.commit(is_open)
    committed = sum(each is Standing.COMMITTED for each in after.values())
    aborted = sum(each is Standing.ABORTED for each in before.values())
    return Finished(query_id, decision.batch_id, committed, aborted + len(is_open) - committed)
