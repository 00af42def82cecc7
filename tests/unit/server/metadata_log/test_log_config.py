"""The settings of the metadata log, from the configuration to storage."""

from tidelog.config import load_broker_config
from tidelog.config.topic_config import UNLIMITED
from tidelog.server.metadata_log.log_config import MetadataLogConfig, log_config, metadata_log_config

NODE = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def test_the_defaults_are_kafkas() -> None:
    assert metadata_log_config(load_broker_config(NODE).config) == MetadataLogConfig()


def test_every_setting_has_its_place() -> None:
    changed = """\
metadata.log.segment.bytes=8388608
metadata.log.segment.ms=1
internal.metadata.max.batch.size.in.bytes=2
metadata.log.max.record.bytes.between.snapshots=3
metadata.log.max.snapshot.interval.ms=4
metadata.max.retention.bytes=5
metadata.max.retention.ms=6
"""
    found = metadata_log_config(load_broker_config(NODE + changed).config)
    assert found == MetadataLogConfig(8388608, 1, 2, 3, 4, 5, 6)
    small = metadata_log_config(load_broker_config(NODE + "internal.metadata.log.segment.bytes=500\n").config)
    assert small.segment_bytes == 500


def test_whatever_topics_do_this_log_is_synced_and_kept() -> None:
    topic = log_config(MetadataLogConfig(segment_bytes=500, batch_bytes_max=70))
    assert (topic.flush_messages, topic.retention_ms, topic.retention_bytes) == (1, UNLIMITED, UNLIMITED)
    assert (topic.segment_bytes_max, topic.max_message_bytes, topic.compacts) == (500, 70, False)
