import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Transactions one after the other, by the Java client (transaction protocol v2 where the broker has it).
 *
 * Arguments: bootstrap, topic, transactional id, records a transaction, partitions, seconds of warming up. It says
 * "ready", and then for each line of its input, which is a number of seconds, how many it committed and how long it took.
 */
public final class Transactions {
    private static final byte[] VALUE = new byte[100];

    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("transactional.id", arguments[2]);
        settings.put("linger.ms", "0");
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            producer.initTransactions();
            run(producer, arguments, Double.parseDouble(arguments[5]));
            System.out.println("ready");
            Scanner input = new Scanner(System.in);
            while (input.hasNextDouble()) {
                long began = System.nanoTime();
                long count = run(producer, arguments, input.nextDouble());
                System.out.println(count + " " + (System.nanoTime() - began) / 1e9);
            }
        }
    }

    private static long run(KafkaProducer<byte[], byte[]> producer, String[] arguments, double seconds) {
        int records = Integer.parseInt(arguments[3]);
        int partitions = Integer.parseInt(arguments[4]);
        long until = System.nanoTime() + (long) (seconds * 1e9);
        long count = 0;
        for (; System.nanoTime() < until; count++) {
            producer.beginTransaction();
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(arguments[1], i % partitions, null, VALUE));
            }
            producer.commitTransaction();
        }
        return count;
    }
}
