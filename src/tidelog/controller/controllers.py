"""ControllerRegistration: a controller makes its endpoints and features known, so that brokers and UpdateFeatures can
look them up.
"""

from tidelog.controller.results import Result
from tidelog.controller.state import ControllerState
from tidelog.metadata.record_versions import CONTROLLER_REGISTRATION_FROM, record_version
from tidelog.metadata.records.brokers import ControllerEndpoint, ControllerFeature, RegisterControllerRecord
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


def register_controller(state: ControllerState, request: ControllerRegistrationRequest) -> Result:
    level = state.metadata.metadata_version
    if level < CONTROLLER_REGISTRATION_FROM:
        message = f"needs metadata.version {CONTROLLER_REGISTRATION_FROM} or higher"
        code = ErrorCode.UNSUPPORTED_VERSION
        return Result([], ControllerRegistrationResponse(throttle_time_ms=0, error_code=code, error_message=message))
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=[
            ControllerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ],
        features=[
            ControllerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
    )
    response = ControllerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None)
    return Result([(record, record_version(RegisterControllerRecord, level))], response)
