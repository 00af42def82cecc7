// Writes the small files of a log directory with Apache's own classes. See README.md.
package org.apache.kafka.storage.internals.log;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.properties.MetaProperties;
import org.apache.kafka.metadata.properties.MetaPropertiesVersion;
import org.apache.kafka.metadata.properties.PropertiesUtils;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;

import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

public class SmallFiles {
    public static void main(String[] args) throws Exception {
        File dir = new File(args[0]);
        LogDirFailureChannel channel = new LogDirFailureChannel(1);

        OffsetCheckpointFile offsets = new OffsetCheckpointFile(new File(dir, "recovery-point-offset-checkpoint"), channel);
        Map<TopicPartition, Long> map = new java.util.LinkedHashMap<>();
        map.put(new TopicPartition("orders", 0), 42L);
        map.put(new TopicPartition("orders", 11), 0L);
        map.put(new TopicPartition("a.b_c-d", 2147483647), Long.MAX_VALUE);
        offsets.write(map);
        new OffsetCheckpointFile(new File(dir, "replication-offset-checkpoint"), channel).write(Map.of());
        new OffsetCheckpointFile(new File(dir, "cleaner-offset-checkpoint"), channel);

        new LeaderEpochCheckpointFile(new File(dir, "leader-epoch-checkpoint"), channel)
            .write(List.of(new EpochEntry(0, 0), new EpochEntry(3, 17), new EpochEntry(2147483647, Long.MAX_VALUE)));

        PartitionMetadataFile metadata = new PartitionMetadataFile(new File(dir, "partition.metadata"), channel);
        metadata.record(Uuid.fromString("JgxuGe9URy-E-ceaL04lEw"));
        metadata.maybeFlush();

        new CleanShutdownFileHandler(dir.getPath()).write(7_000_000_000L);

        MetaProperties.Builder meta = new MetaProperties.Builder().setVersion(MetaPropertiesVersion.V1)
            .setClusterId("H3KKO4NTRPaCWtEmm3vW7A").setNodeId(5).setDirectoryId(Uuid.fromString("UgKgSvIBSB2kmnBgAZQ5rw"));
        PropertiesUtils.writePropertiesFile(meta.build().toProperties(), new File(dir, "meta.properties").getPath(), false);
        MetaProperties.Builder old = new MetaProperties.Builder().setClusterId("a=b:c d\\e#!").setNodeId(0);
        PropertiesUtils.writePropertiesFile(old.build().toProperties(), new File(dir, "meta.properties.v0").getPath(), false);

        Map<Long, ProducerStateEntry> producers = new TreeMap<>();
        ProducerStateEntry busy = new ProducerStateEntry(1, (short) 3, 9, 1000, OptionalLong.of(40));
        for (int i = 0; i < 7; i++) busy.addBatch((short) 3, 10 * i + 9, 100 + 10 * i, 9, 1000 + i);
        producers.put(1L, busy);
        producers.put(2L, new ProducerStateEntry(2, (short) -1, -1, -1, OptionalLong.empty()));
        ProducerStateEntry wrapped = new ProducerStateEntry(3, Short.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE, OptionalLong.empty());
        wrapped.addBatch(Short.MAX_VALUE, 1, Long.MAX_VALUE - 1, 4, Long.MAX_VALUE);
        producers.put(Long.MAX_VALUE, wrapped);
        ProducerStateManager.writeSnapshot(new File(dir, "00000000000000000200.snapshot"), producers, false);
        ProducerStateManager.writeSnapshot(new File(dir, "00000000000000000000.snapshot"), Map.of(), false);
    }
}
