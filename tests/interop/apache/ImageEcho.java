// Apache's own replay of metadata records, for tests: reads records, replays each into Apache's image, and writes the
// records of the image that came of it. A record is a length and MetadataRecordSerde's bytes; a length of 0 ends a
// sequence, and the next one starts from the empty image.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

public class ImageEcho {
    private static final MetadataRecordSerde SERDE = MetadataRecordSerde.INSTANCE;

    public static void main(String[] arguments) throws Exception {
        try (DataInputStream in = new DataInputStream(new FileInputStream(arguments[0]));
             DataOutputStream out = new DataOutputStream(new FileOutputStream(arguments[1]))) {
            MetadataImage image = MetadataImage.EMPTY;
            while (in.available() > 0) {
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                if (bytes.length == 0) {
                    write(image, out);
                    image = MetadataImage.EMPTY;
                } else {
                    image = replay(image, bytes);
                }
            }
        }
    }

    // One delta a record: within a larger one Apache forgets to drop settings that the same delta had set.
    private static MetadataImage replay(MetadataImage image, byte[] bytes) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        delta.replay(SERDE.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), bytes.length).message());
        return delta.apply(new MetadataProvenance(1, 1, 1, true));
    }

    private static void write(MetadataImage image, DataOutputStream out) throws Exception {
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(image).build());
        for (ApiMessageAndVersion record : writer.records()) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer buffer = ByteBuffer.allocate(SERDE.recordSize(record, cache));
            SERDE.write(record, cache, new ByteBufferAccessor(buffer));
            out.writeInt(buffer.position());
            out.write(buffer.array(), 0, buffer.position());
        }
        out.writeInt(0);
    }
}
