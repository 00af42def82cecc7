"""Records about who may do what, and how they prove who they are."""

from tidelog.protocol.schema import byte_string, int8, int32, int64, record, string, uuid


@record("metadata", api_key=18, versions="0", flexible="0+")
class AccessControlEntryRecord:
    """An access control entry was added."""

    id: uuid
    resource_type: int8
    resource_name: string
    pattern_type: int8
    principal: string
    host: string
    operation: int8
    permission_type: int8


@record("metadata", api_key=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord:
    """An access control entry was removed."""

    id: uuid


@record("metadata", api_key=11, versions="0", flexible="0+")
class UserScramCredentialRecord:
    """A user's SCRAM credential: salt and derived keys, never the password."""

    name: string
    mechanism: int8
    salt: byte_string
    stored_key: byte_string
    server_key: byte_string
    iterations: int32


@record("metadata", api_key=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord:
    """A user's SCRAM credential was removed."""

    name: string
    mechanism: int8


@record("metadata", api_key=10, versions="0", flexible="0+")
class DelegationTokenRecord:
    """A delegation token was issued or renewed. Its secret is derived, not stored."""

    owner: string
    requester: string
    renewers: list[string]
    issue_timestamp: int64
    max_timestamp: int64
    expiration_timestamp: int64
    token_id: string


@record("metadata", api_key=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord:
    """A delegation token ended."""

    token_id: string
