"""A task's producer, with a transaction timeout that the cluster allows.

A cluster refuses more than its `transaction.max.timeout.ms`, 15 minutes unless set otherwise, which is why that is our
default. Where a cluster allows less, a user who asked for a timeout, or for exactly-once, gets an error: a shorter time
is a weaker promise. A user who asked for neither gets the longest timeout of SHORTER_MS that the cluster accepts.
"""

import logging
from typing import Any, Final

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.sink.options import SinkOptions
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.model.errors import ErrorCode

LOGGER: Final = logging.getLogger("pyspark_tidelog")
OPTION: Final = "kafka.transaction.timeout.ms"
# The limits that operators set, by experience. Less than the last one leaves no time to write a batch.
SHORTER_MS: Final = (600_000, 300_000, 120_000, 60_000, 30_000, 15_000, 5_000)


def begun(client: Client, options: SinkOptions, transactional_id: str, **how: Any) -> TransactionalProducer:
    """Return a producer that has initialized its transactional id; OptionError where its timeout is too long for the
    cluster."""
    wanted_ms = options.producer.transaction_timeout_ms
    may_be_shorter = options.guarantee is None and not options.producer.is_timeout_given
    shorter = [each for each in SHORTER_MS if each < wanted_ms] if may_be_shorter else []
    for timeout_ms in (wanted_ms, *shorter):
        producer = TransactionalProducer(
            client, transactional_id, transaction_timeout_ms=timeout_ms, two_phase=True, **how
        )
        try:
            producer.init_transactions()
        except ClientError as error:
            if error.code is not ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                raise
            continue
        if timeout_ms != wanted_ms:
            text = "the cluster allows transactions of %d ms, not of %d: a batch has to be committed in that time"
            LOGGER.warning(text, timeout_ms, wanted_ms)
        return producer
    problem = f"the cluster allows less than {wanted_ms} (its transaction.max.timeout.ms)"
    step = "set it to less, but to more than a batch takes, or raise transaction.max.timeout.ms of the brokers"
    raise OptionError(OPTION, problem, step)
