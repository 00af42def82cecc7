"""The content of the `quorum-state` file: whom this replica voted for, and in which epoch.

The file holds it as one line of JSON with the version in `"data_version"`, under the camel case names of these fields.
1 belongs to KRaft version 1: directories are named, and the voters have moved to the log.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import field, int32, int64, record, string, struct, uuid


@struct
class Voter:
    voter_id: int32


@record("data", versions="0-1", flexible="0+")
class QuorumStateData:
    cluster_id: string = field("0", default="")
    leader_id: int32 = -1
    leader_epoch: int32 = -1
    voted_id: int32 = -1
    voted_directory_id: uuid = field("1+", default=ZERO_UUID)
    applied_offset: int64 = field("0", default=0)
    current_voters: list[Voter] | None = field("0", nullable="0", default_factory=list)
