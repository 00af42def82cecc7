"""Idempotent producers: which sequence may follow which, and how a repeated batch is answered."""

from dataclasses import replace
from functools import partial

from tests.interop.apache.transactions.asking import Asking, Producer, batch
from tests.interop.apache.transactions.script import Scenario, Script

from tidelog.records.builder import seal_batch
from tidelog.records.header import BATCH_OVERHEAD, CONTROL_FLAG, read_header

MAX_SEQUENCE = 2**31 - 1
VERSIONS = (3, 7, 9, 11, 12, 13)


def window(script: Script, version: int) -> None:
    asking = Asking(script)
    producer = asking.init(None)
    for sequence in range(0, 14, 2):
        asking.produce(producer, sequence, 2, version=version)
    for sequence in (12, 4, 2, 0):
        asking.produce(producer, sequence, 2, version=version, why=f"{sequence} again; five batches are remembered")
    asking.produce(producer, 12, 1, version=version, why="the beginning of a known batch")
    asking.produce(producer, 11, 3, version=version, why="over the end of a known batch")
    asking.produce(producer, 15, version=version, why="a gap")
    asking.produce(producer, 13, version=version, why="the last record again")
    asking.produce(producer, 14, version=version, why="where it belongs")
    asking.producers(0)


def first_at_any(script: Script, version: int) -> None:
    asking = Asking(script)
    producer = asking.init(None)
    asking.produce(producer, 77, version=version, why="a producer that the partition does not know")
    asking.produce(producer, 77, version=version, why="again")
    asking.produce(producer, 79, version=version, why="a gap")
    asking.produce(producer, 0, version=version, why="from the beginning")
    asking.produce(producer, 78, version=version, partition=1, why="each partition by itself")
    stranger = Producer(None, producer.producer_id + 1_000_000, 5)
    asking.produce(stranger, 3, version=version, why="an id that was never given out, at epoch 5")
    asking.produce(stranger.at(4), 4, version=version, why="at a lower epoch")
    asking.produce(stranger, 4, version=version, why="where it belongs")
    asking.producers(0, 1)


def epochs(script: Script, version: int) -> None:
    asking = Asking(script)
    producer = asking.init(None).at(3)
    asking.produce(producer, 0, version=version)
    asking.produce(producer.at(2), 1, version=version, why="a lower epoch, next sequence")
    asking.produce(producer.at(2), 0, version=version, why="a lower epoch, a known sequence")
    asking.produce(producer.at(4), 1, version=version, why="a higher epoch, not from the beginning")
    asking.produce(producer.at(4), 0, version=version, why="a higher epoch, from the beginning")
    asking.produce(producer, 1, version=version, why="the old one goes on")
    asking.produce(producer, 0, version=version, why="the old one repeats itself")
    asking.produce(producer.at(4), 1, version=version, why="the new one goes on")
    asking.produce(producer.at(9), 0, version=version, why="epochs may be left out")
    asking.producers(0)
    asking.fetch()


def wraps_around(script: Script, version: int) -> None:
    asking = Asking(script)
    producer = asking.init(None)
    asking.produce(producer, MAX_SEQUENCE - 1, version=version, why="two before the end")
    asking.produce(producer, MAX_SEQUENCE, 2, version=version, why="over the end")
    asking.produce(producer, 1, version=version, why="after it")
    asking.produce(producer, MAX_SEQUENCE, 2, version=version, why="the one over the end again")
    asking.produce(producer, 0, version=version, why="in the midst of it")
    asking.produce(producer, MAX_SEQUENCE, 1, version=version, why="its first half")
    asking.produce(producer, 3, version=version, why="a gap")
    asking.produce(producer, 2, version=version, why="where it belongs")
    asking.producers(0)


def wrong_topic_partitions(script: Script, version: int) -> None:
    asking = Asking(script)
    producer = asking.init(None)
    asking.produce(producer, 0, version=version, partition=2, why="no such partition")
    asking.produce(producer, 0, version=version, partition=-1, why="a negative partition")
    asking.produce(producer, 0, version=version, topic="no-such-topic", why="no such topic")
    asking.produce(producer, 0, version=version, why="nothing has come of these")


def odd_batches(script: Script, version: int) -> None:
    """Batches with headers that no client should send."""
    asking = Asking(script)

    def send(why: str, attributes: int, producer_id: int, epoch: int, sequence: int, count: int = 1) -> None:
        whole = batch(Producer(None, 5, 0), 0)
        header = read_header(whole)
        assert header is not None
        odd = replace(
            header,
            attributes=attributes,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            records_count=count,
        )
        records = seal_batch(odd, whole[BATCH_OVERHEAD:])
        asking.produce_raw(None, [(None, 0, records)], version=version, why=why)

    send("a producer without an epoch", 0, 900_001, -1, 0)
    send("a producer without a sequence", 0, 900_001, 0, -1)
    send("a sequence without a producer", 0, -1, -1, 4)
    send("an epoch without a producer", 0, -1, 3, -1)
    send("a negative producer", 0, -7, 0, 0)
    send("a control batch", CONTROL_FLAG, 900_001, 0, 0)
    send("a control batch of nobody's", CONTROL_FLAG, -1, -1, -1)
    send("more records than there are", 0, 900_001, 0, 0, 2)
    send("no records", 0, 900_001, 0, 0, 0)
    first, second = (batch(Producer(None, 900_002, 0), sequence) for sequence in (0, 1))
    asking.produce_raw(None, [(None, 0, first + second)], version=version, why="two batches at once")
    asking.produce_raw(None, [(None, 0, first), (None, 1, first)], version=version, why="one topic named twice")
    asking.produce_raw(None, [(None, 0, first[:-1] + bytes([first[-1] ^ 1]))], version=version, why="flipped bits")
    asking.producers(0, 1)


SCENARIOS: dict[str, Scenario] = {
    f"{name}-v{version}": partial(scenario, version=version)
    for version in VERSIONS
    for name, scenario in (
        ("window", window),
        ("first", first_at_any),
        ("epochs", epochs),
        ("wrap", wraps_around),
        ("wrong-places", wrong_topic_partitions),
        ("odd-batches", odd_batches),
    )
}
