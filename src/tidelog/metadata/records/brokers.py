"""Records about nodes: who is registered, and who may lead."""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, int64, record, string, struct, uint16, uuid


@struct
class BrokerEndpoint:
    name: string
    host: string
    port: uint16
    security_protocol: int16


@struct
class BrokerFeature:
    name: string
    min_supported_version: int16
    max_supported_version: int16


@record("metadata", api_key=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord:
    """A broker entered the cluster, with a new epoch. 1 brings controlled shutdown, 2 the migration from ZooKeeper,
    3 log directories, 4 cordoned ones.
    """

    broker_id: int32
    is_migrating_zk_broker: boolean = field("2+", default=False)
    incarnation_id: uuid
    broker_epoch: int64
    end_points: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: string | None = field(nullable="0+")
    fenced: boolean = True
    in_controlled_shutdown: boolean = field("1+", default=False)
    log_dirs: list[uuid] = field("3+", tag=0, default_factory=list)
    cordoned_log_dirs: list[uuid] | None = field("4+", nullable="4+", tag=1, default=None)


@record("metadata", api_key=1, versions="0", flexible="0+")
class UnregisterBrokerRecord:
    """A broker was removed for good."""

    broker_id: int32
    broker_epoch: int64


@record("metadata", api_key=7, versions="0", flexible="0+")
class FenceBrokerRecord:
    """A broker may no longer lead. Superseded by BrokerRegistrationChangeRecord, still found in old logs."""

    id: int32
    epoch: int64


@record("metadata", api_key=8, versions="0", flexible="0+")
class UnfenceBrokerRecord:
    """A broker may lead again. Superseded by BrokerRegistrationChangeRecord, still found in old logs."""

    id: int32
    epoch: int64


@record("metadata", api_key=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord:
    """What changed about a registered broker; a field at its default did not. 1 brings controlled shutdown,
    2 log directories, 3 cordoned ones.
    """

    broker_id: int32
    broker_epoch: int64
    fenced: int8 = field(tag=0, default=0)
    in_controlled_shutdown: int8 = field("1+", tag=1, default=0)
    log_dirs: list[uuid] = field("2+", tag=2, default_factory=list)
    cordoned_log_dirs: list[uuid] | None = field("3+", nullable="3+", tag=3, default=None)


@struct
class ControllerEndpoint:
    name: string
    host: string
    port: uint16
    security_protocol: int16


@struct
class ControllerFeature:
    name: string
    min_supported_version: int16
    max_supported_version: int16


@record("metadata", api_key=27, versions="0", flexible="0+")
class RegisterControllerRecord:
    """A controller made itself known."""

    controller_id: int32
    incarnation_id: uuid
    zk_migration_ready: boolean
    end_points: list[ControllerEndpoint]
    features: list[ControllerFeature]
