"""The metadata while it is being written: what replay works on.

Every map that is written to first becomes the draft's own (`SharedMap.owned_by`); `owner` is the token by which it is
known, and it changes when the draft freezes.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tidelog.metadata.changes import Changes
from tidelog.metadata.client_quotas import QuotaEntity
from tidelog.metadata.configs import ConfigResource
from tidelog.metadata.feature_levels import METADATA_VERSION
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.nodes import Broker, ControllerRegistration
from tidelog.metadata.security import Acl, DelegationToken, ScramCredential, ScramUser
from tidelog.metadata.shared_map import SharedMap
from tidelog.metadata.topics import Topics
from tidelog.model.ids import Uuid

T = TypeVar("T")

# How many lists are remembered. Replicas and directories repeat from partition to partition; where they do not (many
# brokers), remembering more would cost what it saves.
SHARED_LISTS_MAX = 16_384


class DraftState:
    """A MetadataView that replay may write to."""

    def __init__(self, image: MetadataImage, changes: Changes | None) -> None:
        self.topics = Topics(image.topics.by_id, image.topics.by_name)
        self.brokers: SharedMap[int, Broker] = image.brokers
        self.controllers: SharedMap[int, ControllerRegistration] = image.controllers
        self.configs: SharedMap[ConfigResource, Mapping[str, str]] = image.configs
        self.features: SharedMap[str, int] = image.features
        self.next_producer_id: int = image.next_producer_id
        self.client_quotas: SharedMap[QuotaEntity, Mapping[str, float]] = image.client_quotas
        self.acls: SharedMap[Uuid, Acl] = image.acls
        self.scram_credentials: SharedMap[ScramUser, ScramCredential] = image.scram_credentials
        self.delegation_tokens: SharedMap[str, DelegationToken] = image.delegation_tokens
        self.owner = object()
        self.changes = changes
        self._replica_lists: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._directory_lists: dict[tuple[Uuid, ...], tuple[Uuid, ...]] = {}
        self._directories: dict[Uuid, Uuid] = {}

    @property
    def metadata_version(self) -> int:
        return self.features.get(METADATA_VERSION, 0)

    def share_replicas(self, replicas: Sequence[int]) -> tuple[int, ...]:
        """Return the list as a tuple, and for equal lists the same object, so that a million partitions fit in
        memory."""
        if not replicas:
            return ()
        key = tuple(replicas)
        return self._replica_lists.get(key) or _remember(self._replica_lists, key)

    def share_directories(self, directories: Sequence[Uuid]) -> tuple[Uuid, ...]:
        key = tuple(directories)
        known = self._directory_lists.get(key)
        if known is not None:
            return known
        shared = tuple([self._directories.get(each) or _remember(self._directories, each) for each in key])
        return _remember(self._directory_lists, shared)


def _remember(known: dict[T, T], value: T) -> T:
    if len(known) >= SHARED_LISTS_MAX:
        known.clear()
    known[value] = value
    return value
