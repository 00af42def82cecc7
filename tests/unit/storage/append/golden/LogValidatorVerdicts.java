// Reads the cases of log_validator_4_3.txt (the part before " = "), writes one verdict a line. Run by hand, with the
// jars of Kafka on the class path:
//     java -cp 'lib/*' LogValidatorVerdicts.java cases.txt verdicts.txt

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.StringJoiner;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse.RecordError;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

public class LogValidatorVerdicts {
    public static void main(String[] paths) throws Exception {
        try (PrintStream out = new PrintStream(Files.newOutputStream(Path.of(paths[1])))) {
            for (String line : Files.readAllLines(Path.of(paths[0])))
                if (!line.startsWith("#"))
                    out.println(verdict(line.split(" = ")[0].split(" ")));
        }
    }

    static String verdict(String[] fields) throws Exception {
        try {
            return accepted(fields);
        } catch (RecordValidationException e) {
            StringJoiner indexes = new StringJoiner(",");
            for (RecordError error : e.recordErrors())
                indexes.add(String.valueOf(error.batchIndex));
            return "NO " + Errors.forException(e.invalidException()).name() + " " + indexes;
        } catch (RuntimeException e) {
            return "NO " + Errors.forException(e).name() + " -";
        }
    }

    static String accepted(String[] f) throws Exception {
        AppendOrigin origin = AppendOrigin.valueOf(f[6]);
        byte[] sent = HexFormat.of().parseHex(f.length > 11 ? f[11] : "");
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(sent));
        if (origin == AppendOrigin.CLIENT)
            ProduceRequest.validateRecords(Short.parseShort(f[7]), records);
        int maxBytes = Integer.parseInt(f[4]);
        CompressionType source = CompressionType.NONE;
        int validBytes = 0;
        for (MutableRecordBatch batch : records.batches()) {
            if (origin == AppendOrigin.CLIENT && batch.baseOffset() != 0)
                throw new InvalidRecordException("base offset");
            if (batch.sizeInBytes() > maxBytes)
                throw new RecordTooLargeException("size");
            if (!batch.isValid())
                throw new CorruptRecordException("checksum");
            validBytes += batch.sizeInBytes();
            source = batch.compressionType() == CompressionType.NONE ? source : batch.compressionType();
        }
        ByteBuffer valid = records.buffer().duplicate();
        valid.limit(validBytes);
        LogValidator validator = new LogValidator(
            MemoryRecords.readableRecords(valid), new TopicPartition("topic", 0), fixed(Long.parseLong(f[8])), source,
            target(f[5], source), f[0].equals("1"), (byte) 2,
            f[1].equals("1") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            Long.parseLong(f[2]), Long.parseLong(f[3]), Integer.parseInt(f[10]), origin);
        LogValidator.ValidationResult result = validator.validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(Long.parseLong(f[9])), new NoMetrics(), BufferSupplier.NO_CACHING);
        MutableRecordBatch batch = result.validatedRecords().batches().iterator().next();
        if (result.messageSizeMaybeChanged() && batch.sizeInBytes() > maxBytes)
            throw new RecordTooLargeException("size");
        ByteBuffer buffer = result.validatedRecords().buffer().duplicate();
        byte[] stored = new byte[buffer.remaining()];
        buffer.get(stored);
        return "OK " + batch.baseOffset() + " " + batch.lastOffset() + " " + result.maxTimestampMs() + " "
            + batch.compressionType().id + " " + (batch.timestampType() == TimestampType.LOG_APPEND_TIME ? 1 : 0) + " "
            + batch.partitionLeaderEpoch() + " " + (result.messageSizeMaybeChanged() ? 1 : 0) + " " + digest(stored)
            + " " + digest(text(batch).getBytes(StandardCharsets.UTF_8));
    }

    static Compression target(String type, CompressionType source) {
        if (type.equals("producer"))
            return Compression.of(source).build();
        return Compression.of(type.equals("uncompressed") ? "none" : type).build();
    }

    static String text(MutableRecordBatch batch) {
        StringBuilder text = new StringBuilder();
        for (Record record : batch) {
            text.append(record.offset()).append(':').append(record.timestamp());
            text.append(':').append(hex(record.key())).append(':').append(hex(record.value()));
            for (Header header : record.headers()) {
                byte[] value = header.value();
                text.append(':').append(hex(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8))));
                text.append('=').append(hex(value == null ? null : ByteBuffer.wrap(value)));
            }
            text.append('\n');
        }
        return text.toString();
    }

    static String hex(ByteBuffer bytes) {
        if (bytes == null)
            return "-";
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return HexFormat.of().formatHex(copy);
    }

    static String digest(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)).substring(0, 12);
    }

    static Time fixed(long now) {
        return (Time) java.lang.reflect.Proxy.newProxyInstance(
            Time.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, arguments) -> now);
    }

    static class NoMetrics implements LogValidator.MetricsRecorder {
        public void recordInvalidMagic() { }
        public void recordInvalidOffset() { }
        public void recordInvalidSequence() { }
        public void recordInvalidChecksums() { }
        public void recordNoKeyCompactedTopic() { }
    }
}
