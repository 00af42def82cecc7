"""Who a producer is to the brokers. A file of its own: an operator's tools name one without producing anything."""

from typing import NamedTuple


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    producer_epoch: int
