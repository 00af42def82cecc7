"""AllocateProducerIds."""

from tests.unit.controller.cluster import Cluster

from tidelog.metadata.records.cluster import ProducerIdsRecord
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest


def allocating(cluster: Cluster, broker_id: int = 1) -> AllocateProducerIdsRequest:
    return AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=cluster.metadata.brokers[broker_id].epoch)


def test_blocks_follow_each_other_over_brokers_and_failovers() -> None:
    cluster = Cluster().start(1, 2)
    starts = []
    for broker_id in (1, 2, 1):
        response = cluster.send(allocating(cluster, broker_id))
        assert (response.error_code, response.producer_id_len) == (ErrorCode.NONE, 1000)
        assert encode(response, 0)
        starts.append(response.producer_id_start)
        cluster.failover()
    assert starts == [0, 1000, 2000]


def test_stale_and_unknown_brokers() -> None:
    cluster = Cluster().start(1)
    for broker_id, epoch in ((1, 0), (9, 0), (-1, -1)):
        result = cluster.decide(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))
        assert (result.response.error_code, result.records) == (ErrorCode.STALE_BROKER_EPOCH, [])


def test_the_last_block() -> None:
    cluster = Cluster().start(1)
    last = 2**63 - 1 - 1000
    record = ProducerIdsRecord(broker_id=1, broker_epoch=0, next_producer_id=last)
    cluster.log.append((record, 0))
    cluster.controller.replay(record)
    assert cluster.send(allocating(cluster)).producer_id_start == last
    result = cluster.decide(allocating(cluster))
    assert (result.response.error_code, result.records) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
