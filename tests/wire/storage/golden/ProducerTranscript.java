// Drives Apache's own UnifiedLog with random appends, markers, verifications, high watermarks and expiries, and prints
// what it answered and what it then remembered, one JSON array a line. See README.md.
package org.apache.kafka.storage.internals.log;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.StringJoiner;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;

public class ProducerTranscript {
    static final int EXPIRATION_MS = 30_000;
    static final int STEP_MS = 1_000;

    static class SetTime implements Time {
        long now = 1_000_000;
        public long milliseconds() { return now; }
        public long hiResClockMs() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object o, Supplier<Boolean> c, long d) { }
    }

    static class NoScheduler implements Scheduler {
        public void startup() { }
        public void shutdown() { }
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) { return null; }
        public void resizeThreadPool(int size) { }
    }

    final Random random;
    final SetTime time = new SetTime();
    final UnifiedLog log;
    final Map<Long, VerificationGuard> guards = new HashMap<>();
    int abortedSeen = 0;

    ProducerTranscript(long seed, File dir, boolean verify) throws Exception {
        random = new Random(seed);
        log = UnifiedLog.create(dir, new LogConfig(Map.of()), 0L, 0L, new NoScheduler(), new BrokerTopicStats(), time,
            900_000, new ProducerStateManagerConfig(EXPIRATION_MS, verify), 600_000, new LogDirFailureChannel(1), true,
            Optional.empty());
    }

    ProducerStateEntry entry(long pid) {
        return log.producerStateManager().activeProducers().get(pid);
    }

    boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    short epochNear(long pid) {
        int current = entry(pid) == null ? 0 : Math.max(0, entry(pid).producerEpoch());
        int pick = random.nextInt(100);
        int epoch = pick < 70 ? current : pick < 85 ? current + 1 : current - 1;
        if (chance(1)) epoch = Short.MAX_VALUE;
        return (short) Math.max(0, Math.min(Short.MAX_VALUE, epoch));
    }

    MemoryRecords data(long pid, short epoch, int sequence, int count, boolean txn, long offset) {
        SimpleRecord[] records = new SimpleRecord[count];
        for (int i = 0; i < count; i++) records[i] = new SimpleRecord(time.now, "v".getBytes());
        return MemoryRecords.withRecords(RecordBatch.CURRENT_MAGIC_VALUE, offset, Compression.NONE,
            TimestampType.CREATE_TIME, pid, epoch, sequence, 0, txn, records);
    }

    String append(Supplier<LogAppendInfo> step) {
        try {
            LogAppendInfo info = step.get();
            return "\"NONE\"," + info.firstOffset() + "," + info.lastOffset();
        } catch (Exception e) {
            return "\"" + Errors.forException(e).name() + "\",-1,-1";
        }
    }

    String dataStep() {
        long pid = 1 + random.nextInt(4);
        ProducerStateEntry known = entry(pid);
        short epoch = epochNear(pid);
        int count = 1 + random.nextInt(3);
        int sequence;
        int pick = random.nextInt(100);
        if (known != null && !known.isEmpty() && pick < 20) {
            List<BatchMetadata> window = new ArrayList<>(known.batchMetadata());
            BatchMetadata again = window.get(random.nextInt(window.size()));
            sequence = again.firstSeq();
            count = Math.min(5, again.offsetDelta() + 1);
        } else if (known != null && !known.isEmpty() && pick < 75) {
            sequence = known.lastSeq() == Integer.MAX_VALUE ? 0 : known.lastSeq() + 1;
        } else if (pick < 90) {
            sequence = 0;
        } else {
            sequence = chance(40) ? Integer.MAX_VALUE - random.nextInt(4) : random.nextInt(8);
        }
        boolean ongoing = known != null && known.currentTxnFirstOffset().isPresent();
        boolean txn = ongoing ? chance(93) : chance(60);
        int who = random.nextInt(100);
        String origin = who < 75 ? "CLIENT" : who < 87 ? "COORDINATOR" : "REPLICATION";
        if (origin.equals("COORDINATOR")) sequence = 0; // as the group coordinator does
        VerificationGuard guard = chance(90) ? guards.getOrDefault(pid, VerificationGuard.SENTINEL)
            : VerificationGuard.SENTINEL;
        boolean guarded = guard != VerificationGuard.SENTINEL;
        MemoryRecords records = data(pid, epoch, sequence, count, txn, origin.equals("REPLICATION") ? log.logEndOffset() : 0L);
        String result = append(() -> origin.equals("REPLICATION") ? log.appendAsFollower(records, 0)
            : log.appendAsLeader(records, 0, AppendOrigin.valueOf(origin), RequestLocal.noCaching(), guard, (short) -1));
        return "\"data\",\"" + origin + "\"," + pid + "," + epoch + "," + sequence + "," + count + "," + txn + "," +
            guarded + "," + result;
    }

    String markerStep() {
        long pid = 1 + random.nextInt(4);
        short version = (short) random.nextInt(3);
        ProducerStateEntry known = entry(pid);
        short epoch = epochNear(pid);
        if (version == 2 && known != null && chance(60)) epoch = (short) Math.min(Short.MAX_VALUE, known.producerEpoch() + 1);
        int coordinator = (known == null ? 0 : Math.max(0, known.coordinatorEpoch())) + (chance(80) ? 0 : chance(50) ? 1 : -1);
        boolean commit = chance(50);
        boolean follower = chance(15);
        MemoryRecords records = MemoryRecords.withEndTransactionMarker(log.logEndOffset(), time.now, 0, pid, epoch,
            new EndTransactionMarker(commit ? ControlRecordType.COMMIT : ControlRecordType.ABORT, coordinator));
        String result = append(() -> follower ? log.appendAsFollower(records, 0)
            : log.appendAsLeader(records, 0, AppendOrigin.COORDINATOR, RequestLocal.noCaching(),
                VerificationGuard.SENTINEL, version));
        return "\"marker\",\"" + (follower ? "REPLICATION" : "COORDINATOR") + "\"," + pid + "," + epoch + "," + coordinator +
            "," + commit + "," + version + "," + result;
    }

    String verifyStep() {
        long pid = 1 + random.nextInt(4);
        short epoch = epochNear(pid);
        ProducerStateEntry known = entry(pid);
        int next = known == null || known.isEmpty() || chance(25) ? random.nextInt(3) : known.lastSeq() + random.nextInt(3);
        int sequence = Math.max(0, next);
        boolean bump = chance(60);
        String result;
        try {
            VerificationGuard guard = log.maybeStartTransactionVerification(pid, sequence, epoch, bump);
            result = guard == VerificationGuard.SENTINEL ? "ONGOING" : "GUARD";
            if (guard != VerificationGuard.SENTINEL) guards.put(pid, guard);
        } catch (Exception e) {
            result = Errors.forException(e).name();
        }
        return "\"verify\"," + pid + "," + epoch + "," + sequence + "," + bump + ",\"" + result + "\"";
    }

    String otherStep() throws Exception {
        int pick = random.nextInt(10);
        if (pick < 6) {
            long hw = log.highWatermark() + random.nextInt((int) (log.logEndOffset() - log.highWatermark()) + 1);
            log.updateHighWatermark(hw);
            return "\"hw\"," + hw;
        } else if (pick < 8) {
            log.removeExpiredProducers(time.now);
            return "\"expire\"";
        }
        File file = new File(log.dir(), "taken");
        ProducerStateManager.writeSnapshot(file, log.producerStateManager().activeProducers(), false);
        return "\"snapshot\",\"" + HexFormat.of().formatHex(Files.readAllBytes(file.toPath())) + "\"";
    }

    String state() {
        StringJoiner producers = new StringJoiner(",", "[", "]");
        for (long pid = 1; pid <= 4; pid++) {
            ProducerStateEntry e = entry(pid);
            if (e == null) continue;
            StringJoiner window = new StringJoiner(",", "[", "]");
            for (BatchMetadata b : e.batchMetadata())
                window.add("[" + b.lastSeq() + "," + b.lastOffset() + "," + b.offsetDelta() + "," + b.timestamp() + "]");
            producers.add("[" + pid + "," + e.producerEpoch() + "," + e.coordinatorEpoch() + "," + e.lastTimestamp() +
                "," + e.currentTxnFirstOffset().orElse(-1) + "," + window + "]");
        }
        List<AbortedTxn> aborted = log.activeSegment().txnIndex().allAbortedTxns();
        StringJoiner fresh = new StringJoiner(",", "[", "]");
        for (AbortedTxn a : aborted.subList(abortedSeen, aborted.size()))
            fresh.add("[" + a.producerId() + "," + a.firstOffset() + "," + a.lastOffset() + "," + a.lastStableOffset() + "]");
        abortedSeen = aborted.size();
        long unstable = log.producerStateManager().firstUnstableOffset().map(o -> o.messageOffset).orElse(-1L);
        return "[" + log.logEndOffset() + "," + unstable + "," + log.producerStateManager().firstUndecidedOffset().orElse(-1) +
            "," + producers + "," + fresh + "]";
    }

    void run(int steps) throws Exception {
        for (int i = 0; i < steps; i++) {
            time.now += STEP_MS;
            int pick = random.nextInt(100);
            String step = pick < 55 ? dataStep() : pick < 72 ? markerStep() : pick < 90 ? verifyStep() : otherStep();
            System.out.println("[" + time.now + "," + step + "," + state() + "]");
        }
    }

    public static void main(String[] args) throws Exception {
        for (int seed = 0; seed < Integer.parseInt(args[1]); seed++) {
            File dir = new File(args[0], "t-" + seed);
            boolean verify = seed % 4 != 3;
            System.out.println("[\"begin\"," + seed + "," + verify + "," + EXPIRATION_MS + "]");
            new ProducerTranscript(seed, dir, verify).run(Integer.parseInt(args[2]));
        }
    }
}
