"""Replay of records about access control, SCRAM credentials and delegation tokens."""

from tidelog.metadata.draft_state import DraftState
from tidelog.metadata.errors import InconsistentRecord
from tidelog.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from tidelog.metadata.security import Acl, DelegationToken, ScramCredential, ScramMechanism, ScramUser
from tidelog.model.ids import format_uuid


def add_acl(state: DraftState, record: AccessControlEntryRecord) -> None:
    acl = Acl(
        record.id,
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )
    state.acls = state.acls.owned_by(state.owner)
    state.acls.put(acl.id, acl)
    if state.changes is not None:
        state.changes.acls[acl.id] = None


def remove_acl(state: DraftState, record: RemoveAccessControlEntryRecord) -> None:
    acl_id = record.id
    if acl_id not in state.acls:
        raise InconsistentRecord(record, f"there is no access control entry {format_uuid(acl_id)}")
    state.acls = state.acls.owned_by(state.owner)
    state.acls.remove(acl_id)
    if state.changes is not None:
        state.changes.acls[acl_id] = None


def set_scram_credential(state: DraftState, record: UserScramCredentialRecord) -> None:
    user = _scram_user(record)
    credential = ScramCredential(
        bytes(record.salt), bytes(record.stored_key), bytes(record.server_key), record.iterations
    )
    state.scram_credentials = state.scram_credentials.owned_by(state.owner)
    state.scram_credentials.put(user, credential)
    if state.changes is not None:
        state.changes.scram_credentials[user] = None


def remove_scram_credential(state: DraftState, record: RemoveUserScramCredentialRecord) -> None:
    user = _scram_user(record)
    state.scram_credentials = state.scram_credentials.owned_by(state.owner)
    state.scram_credentials.remove(user)
    if state.changes is not None:
        state.changes.scram_credentials[user] = None


def set_delegation_token(state: DraftState, record: DelegationTokenRecord) -> None:
    token = DelegationToken(
        record.token_id,
        record.owner,
        record.requester,
        tuple(record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )
    state.delegation_tokens = state.delegation_tokens.owned_by(state.owner)
    state.delegation_tokens.put(token.token_id, token)
    if state.changes is not None:
        state.changes.delegation_tokens[token.token_id] = None


def remove_delegation_token(state: DraftState, record: RemoveDelegationTokenRecord) -> None:
    state.delegation_tokens = state.delegation_tokens.owned_by(state.owner)
    state.delegation_tokens.remove(record.token_id)
    if state.changes is not None:
        state.changes.delegation_tokens[record.token_id] = None


def _scram_user(record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> ScramUser:
    try:
        return ScramUser(ScramMechanism(record.mechanism), record.name)
    except ValueError:
        raise InconsistentRecord(record, f"{record.mechanism} is no SCRAM mechanism") from None
