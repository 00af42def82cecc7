"""The checks at the end of a round, by clients that took no part in it."""

import time
from collections import Counter

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.soak.plan import KEYS, PARTITIONS, RECORDS, Plan
from tests.soak.processes import TRANSACTION_TIMEOUT_MS, SoakFailed

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition as OutputPartition

READ_S_MAX = 30
OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")
# A transaction may be open when its worker is killed at the end; after this long its timeout has ended it.
SETTLE_S_MAX = 2 * TRANSACTION_TIMEOUT_MS / 1000


def committed(admin: AdminClient, plan: Plan) -> list[int]:
    """Return the group's offsets in the input; -1 where one is in a transaction that is not decided yet."""
    places = [TopicPartition(plan.input, partition) for partition in range(PARTITIONS)]
    asked = ConsumerGroupTopicPartitions(f"{plan.name}-group", places)
    (future,) = admin.list_consumer_group_offsets([asked], require_stable=True, request_timeout=5).values()
    found = {each.partition: max(each.offset, -1) for each in future.result().topic_partitions}
    return [found.get(partition, -1) for partition in range(PARTITIONS)]


def check(bootstrap: str, plan: Plan) -> None:
    check_nothing_open(bootstrap, plan)  # first: an open transaction hides the records behind it
    every = read(bootstrap, plan.input)
    if sorted(value for values in every for _key, value in values) != list(range(RECORDS)):
        raise SoakFailed("the input is not what was produced: the idempotent producer lost or repeated something")
    check_output(read(bootstrap, plan.output))
    ends, found = [len(values) for values in every], committed(AdminClient({"bootstrap.servers": bootstrap}), plan)
    if found != ends:
        raise SoakFailed(f"the group has committed {found}, and the input ends at {ends}")


def check_output(partitions: list[list[tuple[int, int]]]) -> None:
    counts = Counter(value for values in partitions for _key, value in values)
    missing = [value for value in range(RECORDS) if not counts[value]]
    repeated = [value for value, count in counts.items() if count > 1]
    if missing or repeated:
        raise SoakFailed(f"missing: {missing[:20]} ({len(missing)}), more than once: {repeated[:20]} ({len(repeated)})")
    for values in partitions:
        for key in range(KEYS):
            of_key = [value for found, value in values if found == key]
            if of_key != sorted(of_key):
                raise SoakFailed(f"the order of key {key} is not kept: {of_key}")


def read(bootstrap: str, topic: str) -> list[list[tuple[int, int]]]:
    """Return keys and values by partition, as a read_committed consumer sees them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "soak-reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
    )
    found: list[list[tuple[int, int]]] = [[] for _ in range(PARTITIONS)]
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    ended: set[int] = set()
    until = time.monotonic() + READ_S_MAX
    while len(ended) < PARTITIONS and time.monotonic() < until:
        record = consumer.poll(1)
        error = None if record is None else record.error()
        if record is None:
            continue
        if error is None:
            found[record.partition() or 0].append((int(record.key() or b""), int(record.value() or b"")))
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(record.partition() or 0)
    consumer.close()
    if len(ended) < PARTITIONS:
        raise SoakFailed(f"{topic} could not be read to its end in {READ_S_MAX} s")
    return found


def check_nothing_open(bootstrap: str, plan: Plan) -> None:
    """Check that no transaction is open, neither for the coordinator nor in the logs."""
    until = time.monotonic() + SETTLE_S_MAX
    with Client(bootstrap) as client:
        admin = Admin(client)
        while (left := _open(admin, plan)) and time.monotonic() < until:
            time.sleep(0.1)
    if left:
        raise SoakFailed(f"left open: {left}")


def _open(admin: Admin, plan: Plan) -> list[str]:
    listed = admin.list_transactions(states=OPEN_STATES, pattern=f"{plan.name}-.*")
    left = [f"{each.transactional_id} {each.state}" for each in listed]
    places = [OutputPartition(plan.output, partition) for partition in range(PARTITIONS)]
    for place, producers in admin.describe_producers(places).items():
        if isinstance(producers, ClientError):
            raise producers
        left += [f"{place} {each}" for each in producers if each.transaction_start_offset >= 0]
    return left
