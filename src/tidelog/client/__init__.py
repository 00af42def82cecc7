"""A blocking client of our own, for our own tools: pure Python over the protocol and records packages.

    with Client("localhost:9092") as client:
        with Producer(client) as producer:
            producer.send("greetings", b"hello", key=b"k")
        with Consumer(client) as consumer:
            consumer.assign({TopicPartition("greetings", 0): EARLIEST})
            for record in consumer.read_to_end():
                print(record.offset, record.value)
        Admin(client).list_topics()

With groups: `GroupConsumer` (client.group.consumer). With transactions: `TransactionalProducer`
(client.producer.transactional_producer). With TLS or SASL: `Client(..., security=security_of(settings))`
(client.security.settings).

One thread, no background work: sockets move while the caller is inside a call (`Producer.send`, `Consumer.poll`,
`Producer.flush`, ...). That makes a run of the client as repeatable as the simulator that it is tested in. Another
thread takes another Client.

Import from the modules (`client.client`, `client.producer.producer`, `client.fetch.consumer`,
`client.admin.admin_client`, `client.errors`, `client.record`): a command that lists topics should not pay for the
messages of a consumer.
"""
