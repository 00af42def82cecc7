// Writes the golden lines of apache_4_3.jsonl, see README.md. Needs nothing but the jars of a Kafka distribution.
//
// Values come from the schemas inside Kafka's own generated classes, never from Tidelog's declarations: a field that we
// forgot or misplaced is in the golden bytes all the same.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Utils;

public final class GoldenBytes {
    enum Shape { FULL, BARE, MIXED }

    static final String[] DATA = {
        "ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "DefaultPrincipalData", "EndTxnMarker",
        "KRaftVersionRecord", "LeaderChangeMessage", "SnapshotFooterRecord", "SnapshotHeaderRecord", "VotersRecord",
        "RequestHeaderData", "ResponseHeaderData",
    };
    static final ObjectMapper JSON = new ObjectMapper();
    static final long[] EDGES = {0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE};
    static final String[] TEXTS = {"", "a", "tide.log_1-2", "\u00e9\u6f6e\ud83c\udf0a", "x".repeat(130)};

    final Random random;
    final Shape shape;
    int counter = 0;

    GoldenBytes(Shape shape, String name, int version) {
        this.shape = shape;
        this.random = new Random((shape + name + version).hashCode());
    }

    public static void main(String[] args) throws Exception {
        for (Class<?> cls : classes()) {
            Schema[] schemas = (Schema[]) cls.getField("SCHEMAS").get(null);
            for (short version = 0; version < schemas.length; version++)
                for (Shape shape : Shape.values())
                    if (schemas[version] != null) writeLine(cls, schemas[version], version, shape);
        }
    }

    static List<Class<?>> classes() throws Exception {
        List<Class<?>> found = new ArrayList<>();
        for (var api : org.apache.kafka.common.message.ApiMessageType.values()) {
            if (api.lowestSupportedVersion() > api.highestSupportedVersion(true)) continue;
            found.addAll(List.of(api.newRequest().getClass(), api.newResponse().getClass()));
        }
        for (var record : org.apache.kafka.common.metadata.MetadataRecordType.values())
            found.add(record.newMetadataRecord().getClass());
        for (var record : org.apache.kafka.coordinator.group.generated.CoordinatorRecordType.values())
            found.addAll(List.of(record.newRecordKey().getClass(), record.newRecordValue().getClass()));
        for (var record : org.apache.kafka.coordinator.share.generated.CoordinatorRecordType.values())
            found.addAll(List.of(record.newRecordKey().getClass(), record.newRecordValue().getClass()));
        for (var record : org.apache.kafka.coordinator.transaction.generated.CoordinatorRecordType.values())
            found.addAll(List.of(record.newRecordKey().getClass(), record.newRecordValue().getClass()));
        for (String name : DATA) found.add(Class.forName("org.apache.kafka.common.message." + name));
        found.add(Class.forName("org.apache.kafka.raft.generated.QuorumStateData"));
        return found;
    }

    static String nameOf(Class<?> cls) {
        return cls.getSimpleName().replaceAll("(Request|Response|Header)Data$", "$1");
    }

    static Message message(Class<?> cls, Schema schema, short version, Shape shape) throws Exception {
        Object value = new GoldenBytes(shape, nameOf(cls), version).struct(schema);
        ByteBuffer raw = ByteBuffer.allocate(schema.sizeOf(value));
        schema.write(raw, value);
        raw.flip();
        Message message = (Message) cls.getDeclaredConstructor().newInstance();
        message.read(new ByteBufferAccessor(raw), version);
        if (raw.hasRemaining()) throw new IllegalStateException(nameOf(cls) + " v" + version);
        return message;
    }

    static void writeLine(Class<?> cls, Schema schema, short version, Shape shape) throws Exception {
        Message message = message(cls, schema, version, shape);
        byte[] bytes = Utils.toArray(MessageUtil.toByteBufferAccessor(message, version).buffer());
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("name", nameOf(cls));
        line.put("version", version);
        line.put("shape", shape.name().toLowerCase());
        line.put("hex", HexFormat.of().formatHex(bytes));
        line.put("fields", fields(message));
        System.out.println(JSON.writeValueAsString(line));
    }

    /** Every field of the Java object, those that the version does not carry included: they show Kafka's defaults. */
    static Object plain(Object value) throws Exception {
        if (value instanceof Message message) return fields(message);
        if (value instanceof Uuid uuid) return uuid.toString();
        if (value instanceof byte[] bytes) return HexFormat.of().formatHex(bytes);
        if (value instanceof ByteBuffer buffer) return plain(Utils.toArray(buffer));
        if (value instanceof MemoryRecords records) return plain(records.buffer());
        if (!(value instanceof Collection<?> collection)) return value;
        List<Object> values = new ArrayList<>();
        for (Object element : collection) values.add(plain(element));
        return values;
    }

    static Map<String, Object> fields(Message message) throws Exception {
        Map<String, Object> values = new LinkedHashMap<>();
        for (Field field : message.getClass().getDeclaredFields()) {
            if (isInternal(field)) continue;
            field.setAccessible(true);
            values.put(field.getName(), plain(field.get(message)));
        }
        return values;
    }

    static boolean isInternal(Field field) {
        return Modifier.isStatic(field.getModifiers()) || field.getName().matches("_.*|next|prev");
    }

    Struct struct(Schema schema) throws Exception {
        Struct struct = new Struct(schema);
        for (BoundField field : schema.fields()) struct.set(field, value(field.def.type));
        return struct;
    }

    Object value(Type type) throws Exception {
        if (type instanceof TaggedFields tagged) return tagged(tagged);
        if (type.isNullable() && (shape == Shape.BARE || shape == Shape.MIXED && random.nextInt(4) == 0)) return null;
        if (type instanceof Schema schema) return struct(schema);
        if (type.arrayElementType().isPresent()) return array(type.arrayElementType().get());
        return primitive(type.toString().replaceAll("COMPACT_|NULLABLE_", ""));
    }

    /** In a full message every tagged field is there, in a bare one none. Null would be no shorter than absent. */
    @SuppressWarnings("unchecked")
    Object tagged(TaggedFields tagged) throws Exception {
        Field fields = TaggedFields.class.getDeclaredField("fields");
        fields.setAccessible(true);
        TreeMap<Integer, Object> values = new TreeMap<>();
        for (var entry : ((Map<Integer, org.apache.kafka.common.protocol.types.Field>) fields.get(tagged)).entrySet()) {
            if (shape == Shape.BARE || shape == Shape.MIXED && random.nextBoolean()) continue;
            Object value = value(entry.getValue().type);
            if (value != null) values.put(entry.getKey(), value);
        }
        return values;
    }

    Object[] array(Type element) throws Exception {
        int size = shape == Shape.FULL ? 2 : shape == Shape.BARE ? 0 : random.nextInt(4);
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < size; i++) values.add(value(element));
        return values.toArray();
    }

    Object primitive(String type) {
        return switch (type) {
            case "BOOLEAN" -> number(1) % 2 != 0;
            case "INT8" -> (byte) number(8);
            case "INT16" -> (short) number(16);
            case "UINT16" -> (int) unsigned(16);
            case "INT32" -> (int) number(32);
            case "UINT32" -> unsigned(32);
            case "INT64" -> number(64);
            case "FLOAT64" -> number(32) / 4.0;
            case "UUID" -> new Uuid(number(64), number(64));
            case "STRING" -> text();
            case "BYTES" -> ByteBuffer.wrap(bytes());
            case "RECORDS" -> MemoryRecords.readableRecords(ByteBuffer.wrap(bytes()));
            default -> throw new IllegalArgumentException(type);
        };
    }

    /** Full: all different, so that exchanged fields show. Bare: zero. Mixed: the ends of the range and random bits. */
    long number(int bits) {
        if (shape == Shape.BARE) return 0;
        if (shape == Shape.FULL) return bits == 1 ? 1 : ++counter % 100 + 2;
        int edge = random.nextInt(EDGES.length + 2);
        if (edge >= EDGES.length) return bits == 64 ? random.nextLong() : random.nextLong() >> (64 - bits);
        return Math.abs(EDGES[edge]) > 1 ? EDGES[edge] >> (64 - bits) : EDGES[edge];
    }

    /** Full: above the range of the signed type, which would otherwise look the same. */
    long unsigned(int bits) {
        long mask = (1L << bits) - 1;
        return shape == Shape.FULL ? mask - number(bits) : number(bits) & mask;
    }

    String text() {
        if (shape == Shape.BARE) return "";
        return shape == Shape.FULL ? "text-" + ++counter : TEXTS[random.nextInt(TEXTS.length)];
    }

    byte[] bytes() {
        byte[] bytes = new byte[shape == Shape.BARE ? 0 : shape == Shape.FULL ? 9 : random.nextInt(20)];
        for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) (i * 17);
        return bytes;
    }
}
