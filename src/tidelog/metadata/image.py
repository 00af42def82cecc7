"""What the cluster knows of itself at one offset of the metadata log. It never changes: a later offset has its own.

Everything that decides from metadata reads a `MetadataView`: a broker an image, the controller its draft.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol
from zlib import crc32

from tidelog.metadata.client_quotas import QuotaEntity, number_of_entity
from tidelog.metadata.configs import ConfigResource
from tidelog.metadata.feature_levels import METADATA_VERSION
from tidelog.metadata.nodes import Broker, ControllerRegistration
from tidelog.metadata.security import Acl, DelegationToken, ScramCredential, ScramUser
from tidelog.metadata.shared_map import SharedMap, number_of_int, number_of_named, number_of_text
from tidelog.metadata.topics import Topics
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import dataclass

NO_PRODUCER_IDS = -1


class Provenance(NamedTuple):
    """The last record that an image contains; -1 in every field where it contains none."""

    offset: int
    epoch: int
    timestamp_ms: int


class MetadataView(Protocol):
    """The attributes that an image and a draft have in common."""

    @property
    def topics(self) -> Topics: ...

    @property
    def brokers(self) -> SharedMap[int, Broker]: ...

    @property
    def controllers(self) -> SharedMap[int, ControllerRegistration]: ...

    @property
    def configs(self) -> SharedMap[ConfigResource, Mapping[str, str]]:
        """The settings of each resource that has one; a setting that was removed is absent."""

    @property
    def features(self) -> SharedMap[str, int]:
        """Finalized levels by name, metadata.version among them; a feature at level 0 is absent. kraft.version is
        settled by the quorum's own records and never here.
        """

    @property
    def next_producer_id(self) -> int:
        """The first id of the next block; NO_PRODUCER_IDS before the first one."""

    @property
    def client_quotas(self) -> SharedMap[QuotaEntity, Mapping[str, float]]: ...

    @property
    def acls(self) -> SharedMap[Uuid, Acl]: ...

    @property
    def scram_credentials(self) -> SharedMap[ScramUser, ScramCredential]: ...

    @property
    def delegation_tokens(self) -> SharedMap[str, DelegationToken]: ...

    @property
    def metadata_version(self) -> int:
        """The finalized level; 0 before the first record of one."""


@dataclass(slots=True)
class MetadataImage:
    """A MetadataView with its provenance. Two are equal when they say the same, whatever the order of their records."""

    provenance: Provenance
    topics: Topics
    brokers: SharedMap[int, Broker]
    controllers: SharedMap[int, ControllerRegistration]
    configs: SharedMap[ConfigResource, Mapping[str, str]]
    features: SharedMap[str, int]
    next_producer_id: int
    client_quotas: SharedMap[QuotaEntity, Mapping[str, float]]
    acls: SharedMap[Uuid, Acl]
    scram_credentials: SharedMap[ScramUser, ScramCredential]
    delegation_tokens: SharedMap[str, DelegationToken]

    @property
    def metadata_version(self) -> int:
        return self.features.get(METADATA_VERSION, 0)


def empty_image() -> MetadataImage:
    """Return the image of a log without a record."""
    return MetadataImage(
        provenance=Provenance(-1, -1, -1),
        topics=Topics(SharedMap(crc32), SharedMap(number_of_text)),
        brokers=SharedMap(number_of_int),
        controllers=SharedMap(number_of_int),
        configs=SharedMap(number_of_named),
        features=SharedMap(number_of_text),
        next_producer_id=NO_PRODUCER_IDS,
        client_quotas=SharedMap(number_of_entity),
        acls=SharedMap(crc32),
        scram_credentials=SharedMap(number_of_named),
        delegation_tokens=SharedMap(number_of_text),
    )
