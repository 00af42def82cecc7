import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Apache's own cleaner as an opponent. A line on standard input is a partition's directory and its log end offset; the
 * answer is one line of JSON. Only the cleaning is measured (map, copy, sync, swap), not the start of the JVM and not
 * the opening of the log; what the JIT compiler and the garbage collector do meanwhile is in `cpu_ns` (the process) and
 * not in `thread_cpu_ns` (the cleaner's thread). The cleaner and its buffers live on from line to line, as in a broker.
 */
public final class CleanLogs {
    private static final Map<String, String> TOPIC =
        Map.of("cleanup.policy", "compact", "segment.bytes", String.valueOf(1 << 30));

    public static void main(String[] arguments) throws Exception {
        int dedupeBufferBytes = Integer.parseInt(arguments[0]);
        int ioBufferBytes = Integer.parseInt(arguments[1]);
        double loadFactor = Double.parseDouble(arguments[2]);
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM);
        SkimpyOffsetMap table = new SkimpyOffsetMap(dedupeBufferBytes, "MD5");
        Cleaner cleaner = new Cleaner(
            0, table, ioBufferBytes / 2, 1 << 20, loadFactor, throttler, Time.SYSTEM, partition -> { });
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t");
            System.out.println(clean(cleaner, scheduler, new File(words[0]), Long.parseLong(words[1])));
        }
        System.exit(0);
    }

    private static String clean(Cleaner cleaner, KafkaScheduler scheduler, File directory, long endOffset)
            throws Exception {
        UnifiedLog log = UnifiedLog.create(
            directory, new LogConfig(TOPIC), 0, endOffset, scheduler, new BrokerTopicStats(), Time.SYSTEM, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true,
            Optional.empty());
        log.updateHighWatermark(endOffset);
        LogToClean all = new LogToClean(log, 0, endOffset, true);
        long cpu = cpu(), thread = threadCpu(), wall = System.nanoTime();
        CleanerStats stats = cleaner.clean(all).getValue();
        cpu = cpu() - cpu;
        thread = threadCpu() - thread;
        wall = System.nanoTime() - wall;
        log.close();
        return String.format(
            "{\"cpu_ns\": %d, \"thread_cpu_ns\": %d, \"wall_ns\": %d, \"peak_bytes\": %d, \"records_read\": %d, "
                + "\"records_kept\": %d}",
            cpu, thread, wall, peakBytes(), stats.messagesRead(), stats.messagesWritten());
    }

    private static long cpu() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long threadCpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** The most memory that the process ever had. */
    private static long peakBytes() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return -1;
    }
}
