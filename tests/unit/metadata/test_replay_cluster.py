"""Replay of records about settings, features, producer ids, quotas and security."""

from typing import Any

import pytest
from tests.unit.metadata.built import acl, config, frozen, metadata_version, quota, replayed, scram, token, uuid

from tidelog.metadata.client_quotas import QuotaEntityPart
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.errors import InconsistentRecord, UnknownFeatureLevel
from tidelog.metadata.records.cluster import FeatureLevelRecord, ProducerIdsRecord
from tidelog.metadata.records.security import (
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
)
from tidelog.metadata.security import ScramMechanism, ScramUser

ORDERS = ConfigResource(ResourceType.TOPIC, "orders")


def producer_ids(next_producer_id: int) -> ProducerIdsRecord:
    return ProducerIdsRecord(broker_id=1, broker_epoch=2, next_producer_id=next_producer_id)


def test_settings_add_up_by_resource() -> None:
    draft = replayed(
        config(2, "orders", "retention.ms", "5"),
        config(2, "orders", "a.setting.of.another.release", "x"),
        config(4, "", "min.insync.replicas", "2"),
        config(2, "orders", "retention.ms", "6"),
    )
    assert draft.configs[ORDERS] == {"retention.ms": "6", "a.setting.of.another.release": "x"}
    assert draft.configs[ConfigResource(ResourceType.BROKER, "")] == {"min.insync.replicas": "2"}


def test_a_resource_without_settings_is_absent() -> None:
    draft = replayed(config(2, "orders", "retention.ms", "5"), config(2, "orders", "retention.ms", None))
    assert ORDERS not in draft.configs
    draft.replay(config(2, "orders", "never.set", None))
    assert ORDERS not in draft.configs


def test_a_setting_of_an_older_image_stays() -> None:
    draft = replayed(config(2, "orders", "retention.ms", "5"))
    before = frozen(draft)
    draft.replay(config(2, "orders", "retention.ms", "6"))
    assert before.configs[ORDERS] == {"retention.ms": "5"}


def test_a_quota_of_an_older_image_stays() -> None:
    draft = replayed(quota({"ip": "::1"}, "rate", 1.0))
    before = frozen(draft)
    draft.replay(quota({"ip": "::1"}, "rate", 2.0))
    assert before.client_quotas[(QuotaEntityPart("ip", "::1"),)] == {"rate": 1.0}


def test_a_feature_at_level_0_is_absent() -> None:
    level = FeatureLevelRecord
    draft = replayed(level(name="group.version", feature_level=1), level(name="share.version", feature_level=1))
    assert dict(draft.features.items()) == {"metadata.version": 30, "group.version": 1, "share.version": 1}
    draft.replay(level(name="group.version", feature_level=0))
    assert "group.version" not in draft.features


def test_kraft_version_is_not_settled_here() -> None:
    assert "kraft.version" not in replayed(FeatureLevelRecord(name="kraft.version", feature_level=1)).features


@pytest.mark.parametrize("level", [0, 6, 31])
def test_a_metadata_version_that_is_not_known_is_refused(level: int) -> None:
    draft = replayed()
    with pytest.raises(UnknownFeatureLevel, match=f"metadata.version {level} .* 7 to 30"):
        draft.replay(metadata_version(level))
    assert draft.metadata_version == 30


def test_producer_ids_only_go_up() -> None:
    draft = replayed()
    assert draft.next_producer_id == -1
    draft.replay(producer_ids(1000))
    draft.replay(producer_ids(2000))
    assert draft.next_producer_id == 2000
    with pytest.raises(InconsistentRecord, match="go back from 2000"):
        draft.replay(producer_ids(1000))
    assert draft.next_producer_id == 2000


def test_a_quota_belongs_to_its_entity_however_its_parts_are_ordered() -> None:
    draft = replayed(
        quota({"user": "alice", "client-id": None}, "producer_byte_rate", 10.5),
        quota({"client-id": None, "user": "alice"}, "consumer_byte_rate", 20.0),
        quota({"user": None}, "producer_byte_rate", 1.0),
    )
    entity = (QuotaEntityPart("client-id", None), QuotaEntityPart("user", "alice"))
    assert draft.client_quotas[entity] == {"producer_byte_rate": 10.5, "consumer_byte_rate": 20.0}
    assert draft.client_quotas[(QuotaEntityPart("user", None),)] == {"producer_byte_rate": 1.0}


def test_an_entity_without_quotas_is_absent() -> None:
    draft = replayed(quota({"ip": "::1"}, "rate", 1.0), quota({"ip": "::1"}, "rate", 0.0, remove=True))
    assert len(draft.client_quotas) == 0


def test_access_control_entries_come_and_go_by_id() -> None:
    draft = replayed(acl(1), acl(2, "User:bob"), RemoveAccessControlEntryRecord(id=uuid(701)))
    (left,) = draft.acls.values()
    assert (left.id, left.principal, left.operation) == (uuid(702), "User:bob", 3)


def test_scram_credentials_are_a_user_and_mechanism_each() -> None:
    draft = replayed(scram("alice", 1), scram("alice", 2, 8192), scram("alice", 1, 5000))
    assert draft.scram_credentials[ScramUser(ScramMechanism.SCRAM_SHA_256, "alice")].iterations == 5000
    assert draft.scram_credentials[ScramUser(ScramMechanism.SCRAM_SHA_512, "alice")].iterations == 8192
    draft.replay(RemoveUserScramCredentialRecord(name="alice", mechanism=2))
    assert list(draft.scram_credentials) == [ScramUser(ScramMechanism.SCRAM_SHA_256, "alice")]


def test_a_credential_does_not_print_its_keys() -> None:
    assert "stored" not in repr(replayed(scram()).scram_credentials)


def test_a_token_is_renewed_and_ends() -> None:
    draft = replayed(token(), token(expiration=400), token("token-2"))
    assert draft.delegation_tokens["token-1"].expiration_timestamp_ms == 400
    draft.replay(RemoveDelegationTokenRecord(token_id="token-1"))
    assert list(draft.delegation_tokens) == ["token-2"]


@pytest.mark.parametrize(
    "record",
    [config(3, "x", "name", "value"), scram(mechanism=0), RemoveAccessControlEntryRecord(id=uuid(9))],
)
def test_a_record_that_does_not_fit_is_refused(record: Any) -> None:
    with pytest.raises(InconsistentRecord):
        replayed().replay(record)
