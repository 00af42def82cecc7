"""A real broker for tests: no Docker, no JVM, up in a fraction of a second, nothing left behind.

    import tidelog.testing

    with tidelog.testing.broker(num_partitions=3) as b:
        producer = confluent_kafka.Producer({"bootstrap.servers": b.bootstrap_servers})

Under pytest the plugin that comes with the package gives the same as a fixture, `kafka_broker` (docs/testing.md).

How it works, and why so: the node runs in a process of its own, so that a crash (`Broker.kill`) is a real one and a
test that hogs the interpreter does not stall the broker. One *keeper* process for each process that uses this package
imports the server once, forks the nodes, owns their temporary directories, and takes everything away when its parent is
gone, however that ended.
"""

from tidelog.testing.broker import Broker, BrokerFailed, broker

__all__ = ["broker", "Broker", "BrokerFailed"]
