"""Validators: what each accepts, what it refuses, and the words of the refusal."""

from typing import Any

import pytest

from tidelog.config import forms
from tidelog.config.catalogue import BROKER, CLIENT_METRICS, GROUP, TOPIC
from tidelog.config.setting import InvalidValue, Setting
from tidelog.config.settings import (
    cleaner,
    client_metrics,
    groups,
    listeners,
    log,
    quorum,
    requests,
    security,
    tiered,
    topic,
)


@pytest.mark.parametrize(
    ("setting", "good", "bad"),
    [
        (listeners.LISTENERS, "A://:9092,b://[::1]:0", "A://:9092,"),
        (listeners.LISTENERS, "A://host-1.x:65535", "A://host:65536"),
        (listeners.LISTENERS, "A://h:1", "h:1"),
        (listeners.LISTENERS, "A://h:1", "://h:1"),
        (listeners.LISTENERS, "A://h:1", "A://h:-1"),
        (listeners.LISTENERS, "A://h:1", "A://h h:1"),
        (listeners.LISTENERS, "A://h:1", ""),
        (listeners.ADVERTISED_LISTENERS, "A://h:1", "A://h"),
        (quorum.CONTROLLER_QUORUM_VOTERS, "1@a:9093,2@[::1]:9093", "a:9093"),
        (quorum.CONTROLLER_QUORUM_VOTERS, "", "x@a:9093"),
        (quorum.CONTROLLER_QUORUM_VOTERS, "1@a:1", "1@a"),
        (quorum.CONTROLLER_QUORUM_VOTERS, "1@a:1", "1@a:1@b:2"),
        (quorum.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS, "a:1,b:2", "a"),
        (quorum.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS, "", ":3"),
        (listeners.LISTENER_SECURITY_PROTOCOL_MAP, "A:SSL, b:plaintext", "A:TLS"),
        (listeners.LISTENER_SECURITY_PROTOCOL_MAP, "A:SSL", "A"),
        (listeners.MAX_CONNECTIONS_PER_IP_OVERRIDES, "host:5,::1:7", "host:x"),
        (listeners.MAX_CONNECTIONS_PER_IP_OVERRIDES, "", "ho!st:5"),
        (listeners.MAX_CONNECTIONS_PER_IP_OVERRIDES, "a:1", "a"),
        (listeners.INTER_BROKER_LISTENER_NAME, "A", ""),
        (TOPIC["leader.replication.throttled.replicas"], "0:1,12:3", "0:1,*"),
        (TOPIC["follower.replication.throttled.replicas"], "*", "0-1"),
        (GROUP["share.auto.offset.reset"], "by_duration:P1DT2H30M", "by_duration:P"),
        (GROUP["share.auto.offset.reset"], "by_duration:pt0.5s", "by_duration:-P1D"),
        (GROUP["share.auto.offset.reset"], "earliest", "none"),
        (GROUP["share.isolation.level"], "read_committed", "READ_COMMITTED"),
        (CLIENT_METRICS["match"], "client_id=a.*,client_software_name=x", "client_id"),
        (CLIENT_METRICS["match"], "", "colour=red"),
        (CLIENT_METRICS["match"], "client_id=.", "client_id=("),
        (CLIENT_METRICS["match"], "client_id=.", "client_id=a=b"),
        (client_metrics.INTERVAL_MS, "100", "99"),
        (client_metrics.INTERVAL_MS, "3600000", "3600001"),
        (client_metrics.METRICS, "*", "a,,b"),
        (requests.COMPRESSION_GZIP_LEVEL, "-1", "0"),
        (requests.COMPRESSION_GZIP_LEVEL, "9", "10"),
        (groups.GROUP_CONSUMER_MIGRATION_POLICY, "Upgrade", "sideways"),
        (groups.GROUP_CONSUMER_ASSIGNORS, "range,uniform", "org.example.Mine"),
        (groups.OFFSETS_TOPIC_COMPRESSION_CODEC, "4", "5"),
        (BROKER["group.share.assignors"], "simple", ""),
        (BROKER["share.coordinator.state.topic.compression.codec"], "0", "-1"),
        (log.LOG_CLEANUP_POLICY, "compact,delete", "shred"),
        (log.LOG_CLEANUP_POLICY, "", "delete,"),
        (log.LOG_DIRS, "/a,/b", ""),
        (cleaner.LOG_CLEANER_MIN_CLEANABLE_RATIO, "1", "1.1"),
        (security.SUPER_USERS, "User:alice;User:CN=bob,O=x", "alice"),
        (BROKER["replica.selector.class"], forms.RACK_AWARE_SELECTOR, "org.example.Mine"),
        (tiered.REMOTE_LOG_STORAGE_MANAGER_IMPL_PREFIX, "x.", ""),
        (BROKER["metrics.recording.level"], "debug", "LOUD"),
        (quorum.CONTROLLER_LISTENER_NAMES, "A,B", ""),
        (listeners.EARLY_START_LISTENERS, "", "A,,B"),
        (log.LOG_DIR, "/a", ""),
        (log.CORDONED_LOG_DIRS, "", "/a,,/b"),
        (log.LOG_DIR_RESERVED_BYTES, "0", "-1"),
        (BROKER["remote.log.storage.manager.class.name"], "local", ""),
        (tiered.REMOTE_LOG_METADATA_MANAGER_IMPL_PREFIX, "x.", ""),
        (BROKER["remote.log.metadata.manager.listener.name"], "A", ""),
        (
            BROKER["remote.log.metadata.manager.class.name"],
            BROKER["remote.log.metadata.manager.class.name"].default,
            "org.example.Mine",
        ),
        (
            BROKER["group.share.persister.class.name"],
            BROKER["group.share.persister.class.name"].default,
            "org.example.Mine",
        ),
        (BROKER["ssl.enabled.protocols"], "TLSv1.3", "TLSv1.2,,TLSv1.3"),
        (BROKER["ssl.cipher.suites"], "", "a,,b"),
        (BROKER["sasl.enabled.mechanisms"], "", "PLAIN,,GSSAPI"),
        (BROKER["metric.reporters"], "", "a,,b"),
        (BROKER["kafka.metrics.reporters"], "", "a,,b"),
        (BROKER["sasl.kerberos.principal.to.local.rules"], "DEFAULT", "a,,b"),
        (BROKER["sasl.oauthbearer.expected.audience"], "", "a,,b"),
        (topic.COMPRESSION_GZIP_LEVEL, "-1", "0"),
    ],
)  # fmt: skip
def test_form(setting: Setting[Any], good: str, bad: str) -> None:
    setting.parse(good)
    with pytest.raises(InvalidValue) as caught:
        setting.parse(bad)
    assert str(caught.value)
    assert "{" not in setting.valid
