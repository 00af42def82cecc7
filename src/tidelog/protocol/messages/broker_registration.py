"""BrokerRegistration: a broker enters the cluster and receives its epoch.

1 said that it migrates from ZooKeeper, 2 lists log directories, 3 its previous epoch, 4 allows features from level 0.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct, uint16, uuid


@struct
class Listener:
    name: string
    host: string
    port: uint16
    security_protocol: int16


@struct
class Feature:
    name: string
    min_supported_version: int16
    max_supported_version: int16


@request(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest:
    broker_id: int32
    cluster_id: string
    incarnation_id: uuid
    listeners: list[Listener]
    features: list[Feature]
    rack: string | None = field(nullable="0+")
    is_migrating_zk_broker: boolean = field("1+", default=False)
    log_dirs: list[uuid] = field("2+", default_factory=list, ignorable=True)
    previous_broker_epoch: int64 = field("3+", default=-1, ignorable=True)


@response(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse:
    throttle_time_ms: int32
    error_code: int16
    broker_epoch: int64 = -1
