// Drives Apache's own LeaderEpochFileCache with random assignments and truncations, and prints what it then answers,
// one JSON array a line. See README.md.
package org.apache.kafka.storage.internals.epoch;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

import java.io.File;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.StringJoiner;
import java.util.concurrent.ScheduledFuture;

public class EpochTranscript {
    static class AtOnce implements Scheduler {
        public void startup() { }
        public void shutdown() { }
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            task.run();
            return null;
        }
        public void resizeThreadPool(int size) { }
    }

    static String entries(List<EpochEntry> entries) {
        StringJoiner joined = new StringJoiner(",", "[", "]");
        for (EpochEntry e : entries) joined.add("[" + e.epoch() + "," + e.startOffset() + "]");
        return joined.toString();
    }

    static String optional(OptionalInt value) {
        return Integer.toString(value.orElse(-1));
    }

    public static void main(String[] args) throws Exception {
        for (int seed = 0; seed < Integer.parseInt(args[1]); seed++) {
            Random random = new Random(seed);
            File dir = new File(args[0], "e-" + seed);
            dir.mkdirs();
            File file = LeaderEpochCheckpointFile.newFile(dir);
            LeaderEpochFileCache cache = new LeaderEpochFileCache(new TopicPartition("e", seed),
                new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), new AtOnce());
            System.out.println("[\"begin\"," + seed + "]");
            for (int i = 0; i < Integer.parseInt(args[2]); i++) {
                int pick = random.nextInt(100);
                int epoch = Math.max(0, cache.latestEpoch().orElse(0) + random.nextInt(5) - (pick < 50 ? 0 : 2));
                long top = cache.latestEntry().map(e -> e.startOffset()).orElse(0L);
                long offset = Math.max(0, pick < 50 ? top + random.nextInt(12) : random.nextInt((int) top + 14));
                String step;
                if (pick < 80) {
                    cache.assign(epoch, offset);
                    step = "\"assign\"," + epoch + "," + offset;
                } else if (pick < 90) {
                    cache.truncateFromEndAsyncFlush(offset);
                    step = "\"truncate_from_end\"," + offset;
                } else {
                    cache.truncateFromStartAsyncFlush(offset);
                    step = "\"truncate_from_start\"," + offset;
                }
                long end = cache.latestEntry().map(e -> e.startOffset()).orElse(0L) + 5;
                int last = cache.latestEpoch().orElse(0) + 2;
                StringJoiner byEpoch = new StringJoiner(",", "[", "]");
                for (int asked = -1; asked <= last; asked++) {
                    Map.Entry<Integer, Long> found = cache.endOffsetFor(asked, end);
                    byEpoch.add("[" + found.getKey() + "," + found.getValue() + "," + optional(cache.previousEpoch(asked)) +
                        "," + optional(cache.nextEpoch(asked)) + "]");
                }
                StringJoiner byOffset = new StringJoiner(",", "[", "]");
                for (long asked = 0; asked <= end; asked++) byOffset.add(optional(cache.epochForOffset(asked)));
                long from = random.nextInt((int) end), to = random.nextInt((int) end);
                System.out.println("[" + step + "," + entries(cache.epochEntries()) + "," + end + "," + byEpoch + "," +
                    byOffset + "," + from + "," + to + "," + entries(cache.epochEntriesInRange(from, to)) + ",\"" +
                    Files.readString(file.toPath()).replace("\n", "\\n") + "\"]");
            }
        }
    }
}
