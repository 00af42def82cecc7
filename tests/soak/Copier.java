// The consume-transform-produce program with Apache's client; it does the same as copier.py and takes the same options.
// A rebalance happens only inside poll, which gives up the records of partitions that it took away; so what poll
// returned is ours to copy, and the group metadata of that moment is the right one. That holds with the consumer
// protocol too as long as there is a listener: without one, the background thread of the client needs no poll to join
// again under a new epoch.

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Copier {
    private static final int ENDED = 3; // the exit code that asks for a new start
    private static final int FAILED = 4;

    private final Map<String, String> options;
    private final Random chance;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;

    private Copier(Map<String, String> options) {
        this.options = options;
        this.chance = new Random(options.get("seed").hashCode());
        this.producer = new KafkaProducer<>(producerSettings(), new StringSerializer(), new StringSerializer());
        this.consumer = new KafkaConsumer<>(consumerSettings(), new StringDeserializer(), new StringDeserializer());
    }

    public static void main(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (String each : arguments) {
            String[] parts = each.split("=", 2);
            options.put(parts[0], parts[1]);
        }
        try {
            new Copier(options).run();
        } catch (InvalidOffsetException error) {
            say("failed by " + error); // the group has offsets: somebody said that it has none
            Runtime.getRuntime().halt(FAILED);
        } catch (KafkaException error) {
            say("ended by " + error);
            Runtime.getRuntime().halt(ENDED);
        }
    }

    private void run() {
        producer.initTransactions();
        say("initialised");
        consumer.subscribe(List.of(options.get("input")), new Telling());
        while (true) {
            ConsumerRecords<String, String> batch = consumer.poll(Duration.ofMillis(200));
            if (!batch.isEmpty()) {
                copy(batch);
            }
        }
    }

    private void copy(ConsumerRecords<String, String> batch) {
        var group = consumer.groupMetadata();
        int partitions = Integer.parseInt(options.get("partitions"));
        try {
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
            for (ConsumerRecord<String, String> each : batch) {
                int partition = Integer.parseInt(each.key()) / partitions % partitions;
                producer.send(new ProducerRecord<>(options.get("output"), partition, each.key(), each.value()));
                ends.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            }
            loiter();
            producer.sendOffsetsToTransaction(ends, group);
            loiter();
            if (chance.nextInt(10) == 0) {
                giveUp(batch, "for a change");
            } else {
                producer.commitTransaction();
                say("committed " + batch.count());
            }
        } catch (KafkaException error) {
            giveUp(batch, error.toString());
        }
    }

    /** Where even that fails the program ends, and its next start clears away. */
    private void giveUp(ConsumerRecords<String, String> batch, String why) {
        say("aborted " + why);
        producer.abortTransaction();
        for (TopicPartition each : batch.partitions()) {
            if (consumer.assignment().contains(each)) {
                consumer.seek(each, batch.records(each).get(0).offset());
            }
        }
    }

    private void loiter() {
        try {
            Thread.sleep(chance.nextInt(Integer.parseInt(options.get("loiter_ms"))));
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
    }

    private Properties producerSettings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("transactional.id", options.get("id"));
        settings.put("transaction.timeout.ms", options.get("transaction_timeout_ms"));
        settings.put("delivery.timeout.ms", "20000");
        settings.put("request.timeout.ms", "5000");
        settings.put("linger.ms", "0");
        settings.put("reconnect.backoff.max.ms", "200");
        return settings;
    }

    private Properties consumerSettings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.get("bootstrap"));
        settings.put("group.id", options.get("group"));
        settings.put("group.protocol", options.get("protocol"));
        settings.put("enable.auto.commit", "false");
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "none");
        settings.put("max.poll.records", options.get("transaction_records"));
        settings.put("reconnect.backoff.max.ms", "200");
        if (options.get("protocol").equals("classic")) {
            settings.put("session.timeout.ms", options.get("session_timeout_ms"));
            settings.put("heartbeat.interval.ms", options.get("heartbeat_ms"));
            boolean isRange = options.get("assignor").equals("range");
            String assignor = isRange ? "RangeAssignor" : "CooperativeStickyAssignor";
            settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
        }
        if (options.containsKey("instance")) {
            settings.put("group.instance.id", options.get("instance"));
        }
        return settings;
    }

    private static final class Telling implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            say("assigned " + partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            say("taken away " + partitions);
        }
    }

    private static void say(String line) {
        System.out.printf("%.3f %s%n", System.currentTimeMillis() / 1000.0, line);
        System.out.flush();
    }
}
