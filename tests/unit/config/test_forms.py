"""Validators: what each accepts, what it refuses, and the words of the refusal."""

from typing import Any

import pytest

from tidelog.config import forms
from tidelog.config.setting import InvalidValue, Setting
from tidelog.config.settings import (
    cleaner,
    client_metrics,
    group,
    groups,
    kerberos_oauth,
    listeners,
    log,
    metrics,
    quorum,
    replication,
    requests,
    sasl,
    security,
    share,
    tiered,
    tls,
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
        (topic.LEADER_REPLICATION_THROTTLED_REPLICAS, "0:1,12:3", "0:1,*"),
        (topic.FOLLOWER_REPLICATION_THROTTLED_REPLICAS, "*", "0-1"),
        (group.SHARE_AUTO_OFFSET_RESET, "by_duration:P1DT2H30M", "by_duration:P"),
        (group.SHARE_AUTO_OFFSET_RESET, "by_duration:pt0.5s", "by_duration:-P1D"),
        (group.SHARE_AUTO_OFFSET_RESET, "earliest", "none"),
        (group.SHARE_ISOLATION_LEVEL, "read_committed", "READ_COMMITTED"),
        (client_metrics.MATCH, "client_id=a.*,client_software_name=x", "client_id"),
        (client_metrics.MATCH, "", "colour=red"),
        (client_metrics.MATCH, "client_id=.", "client_id=("),
        (client_metrics.MATCH, "client_id=.", "client_id=a=b"),
        (client_metrics.INTERVAL_MS, "100", "99"),
        (client_metrics.INTERVAL_MS, "3600000", "3600001"),
        (client_metrics.METRICS, "*", "a,,b"),
        (requests.COMPRESSION_GZIP_LEVEL, "-1", "0"),
        (requests.COMPRESSION_GZIP_LEVEL, "9", "10"),
        (groups.GROUP_CONSUMER_MIGRATION_POLICY, "Upgrade", "sideways"),
        (groups.GROUP_CONSUMER_ASSIGNORS, "range,uniform", "org.example.Mine"),
        (groups.OFFSETS_TOPIC_COMPRESSION_CODEC, "4", "5"),
        (share.GROUP_SHARE_ASSIGNORS, "simple", ""),
        (share.SHARE_COORDINATOR_STATE_TOPIC_COMPRESSION_CODEC, "0", "-1"),
        (log.LOG_CLEANUP_POLICY, "compact,delete", "shred"),
        (log.LOG_CLEANUP_POLICY, "", "delete,"),
        (log.LOG_DIRS, "/a,/b", ""),
        (cleaner.LOG_CLEANER_MIN_CLEANABLE_RATIO, "1", "1.1"),
        (security.SUPER_USERS, "User:alice;User:CN=bob,O=x", "alice"),
        (replication.REPLICA_SELECTOR_CLASS, forms.RACK_AWARE_SELECTOR, "org.example.Mine"),
        (tiered.REMOTE_LOG_STORAGE_MANAGER_IMPL_PREFIX, "x.", ""),
        (metrics.METRICS_RECORDING_LEVEL, "debug", "LOUD"),
        (quorum.CONTROLLER_LISTENER_NAMES, "A,B", ""),
        (listeners.EARLY_START_LISTENERS, "", "A,,B"),
        (log.LOG_DIR, "/a", ""),
        (log.CORDONED_LOG_DIRS, "", "/a,,/b"),
        (log.LOG_DIR_RESERVED_BYTES, "0", "-1"),
        (tiered.REMOTE_LOG_STORAGE_MANAGER_CLASS_NAME, "local", ""),
        (tiered.REMOTE_LOG_METADATA_MANAGER_IMPL_PREFIX, "x.", ""),
        (tiered.REMOTE_LOG_METADATA_MANAGER_LISTENER_NAME, "A", ""),
        (
            tiered.REMOTE_LOG_METADATA_MANAGER_CLASS_NAME,
            tiered.REMOTE_LOG_METADATA_MANAGER_CLASS_NAME.default,
            "org.example.Mine",
        ),
        (share.GROUP_SHARE_PERSISTER_CLASS_NAME, share.GROUP_SHARE_PERSISTER_CLASS_NAME.default, "org.example.Mine"),
        (tls.SSL_ENABLED_PROTOCOLS, "TLSv1.3", "TLSv1.2,,TLSv1.3"),
        (tls.SSL_CIPHER_SUITES, "", "a,,b"),
        (sasl.SASL_ENABLED_MECHANISMS, "", "PLAIN,,GSSAPI"),
        (metrics.METRIC_REPORTERS, "", "a,,b"),
        (metrics.KAFKA_METRICS_REPORTERS, "", "a,,b"),
        (kerberos_oauth.SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES, "DEFAULT", "a,,b"),
        (kerberos_oauth.SASL_OAUTHBEARER_EXPECTED_AUDIENCE, "", "a,,b"),
        (topic.COMPRESSION_GZIP_LEVEL, "-1", "0"),
    ],
)  # fmt: skip
def test_form(setting: Setting[Any], good: str, bad: str) -> None:
    setting.parse(good)
    with pytest.raises(InvalidValue) as caught:
        setting.parse(bad)
    assert str(caught.value)
    assert "{" not in setting.valid
