import pytest

from tidelog.model.errors import RETRIABLE, ApiError, ErrorCode


def test_codes_are_dense_from_minus_one() -> None:
    """Kafka has never left a gap between codes, so a gap here is a line that was lost."""
    assert [int(code) for code in ErrorCode] == list(range(-1, len(ErrorCode) - 1))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (0, "NONE"),
        (35, "UNSUPPORTED_VERSION"),
        (100, "UNKNOWN_TOPIC_ID"),
        (133, "SHARE_SESSION_LIMIT_REACHED"),
    ],
)
def test_anchors(code: int, name: str) -> None:
    assert ErrorCode(code).name == name


def test_success_and_fencing_are_never_retried() -> None:
    for code in (
        ErrorCode.NONE,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
    ):
        assert code not in RETRIABLE
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER in RETRIABLE


def test_an_api_error_names_its_code() -> None:
    error = ApiError(ErrorCode.INVALID_REQUEST, "no topics")
    assert str(error) == "INVALID_REQUEST: no topics"
    assert (error.code, error.message) == (42, "no topics")
    assert str(ApiError(ErrorCode.NOT_CONTROLLER)) == "NOT_CONTROLLER"
