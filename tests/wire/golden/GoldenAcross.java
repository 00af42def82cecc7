// Writes the golden lines of apache_4_3_across.jsonl, as GoldenBytes does those of apache_4_3.jsonl.
//
// A message with every field set is read at one version and written at another. Kafka refuses to drop a field that is
// neither default nor ignorable: the refused field is noted, put back to its default, and the message tried again.

import java.lang.reflect.Field;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.utils.Utils;

public final class GoldenAcross {
    static final Pattern REFUSED = Pattern.compile("non-default (\\w+) at version");

    public static void main(String[] args) throws Exception {
        for (Class<?> cls : GoldenBytes.classes()) {
            Schema[] schemas = (Schema[]) cls.getField("SCHEMAS").get(null);
            short highest = (short) (schemas.length - 1);
            short lowest = highest;
            while (lowest > 0 && schemas[lowest - 1] != null) lowest--;
            for (short to = lowest; to <= highest; to++) {
                if (to != highest) writeLine(cls, schemas[highest], highest, to);
                if (to != lowest) writeLine(cls, schemas[lowest], lowest, to);
            }
        }
    }

    static void writeLine(Class<?> cls, Schema schema, short from, short to) throws Exception {
        Message message = GoldenBytes.message(cls, schema, from, GoldenBytes.Shape.FULL);
        Set<String> refused = new TreeSet<>();
        while (true) {
            try {
                byte[] bytes = Utils.toArray(MessageUtil.toByteBufferAccessor(message, to).buffer());
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("name", GoldenBytes.nameOf(cls));
                line.put("from", from);
                line.put("to", to);
                line.put("refused", refused);
                line.put("hex", HexFormat.of().formatHex(bytes));
                System.out.println(GoldenBytes.JSON.writeValueAsString(line));
                return;
            } catch (UnsupportedVersionException refusal) {
                Matcher matcher = REFUSED.matcher(refusal.getMessage());
                if (!matcher.find() || !refused.add(matcher.group(1))) throw refusal;
                reset(message, matcher.group(1));
            }
        }
    }

    static void reset(Object value, String fieldName) throws Exception {
        if (value instanceof Collection<?> elements) for (Object element : elements) reset(element, fieldName);
        if (!(value instanceof Message)) return;
        Object fresh = value.getClass().getDeclaredConstructor().newInstance();
        for (Field field : value.getClass().getDeclaredFields()) {
            if (GoldenBytes.isInternal(field)) continue;
            field.setAccessible(true);
            if (field.getName().equals(fieldName)) field.set(value, field.get(fresh));
            else reset(field.get(value), fieldName);
        }
    }
}
