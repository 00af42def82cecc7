"""The int16 in front of stored messages."""

import pytest

from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.default_principal import DefaultPrincipalData
from tidelog.protocol.stored import UnknownRecordVersion, decode_prefixed, encode_prefixed, read_prefix

PRINCIPAL = DefaultPrincipalData(type="User", name="ann", token_authenticated=True)
DATA = bytes.fromhex("0000" + "05" + b"User".hex() + "04" + b"ann".hex() + "01" + "00")


def test_the_version_comes_first() -> None:
    assert encode_prefixed(PRINCIPAL, 0) == DATA
    assert decode_prefixed(DefaultPrincipalData, DATA) == (PRINCIPAL, 0)


def test_it_is_signed() -> None:
    assert read_prefix(b"\xff\xff") == -1


@pytest.mark.parametrize("data", [b"", b"\0"])
def test_no_room_for_it_is_said_so(data: bytes) -> None:
    with pytest.raises(MalformedMessage, match="int16 in front"):
        read_prefix(data)


def test_a_version_that_is_not_known_is_named() -> None:
    with pytest.raises(UnknownRecordVersion, match="unknown version 1 of DefaultPrincipalData"):
        decode_prefixed(DefaultPrincipalData, b"\0\x01" + DATA[2:])


def test_bytes_that_are_left_over_are_malformed() -> None:
    with pytest.raises(MalformedMessage):
        decode_prefixed(DefaultPrincipalData, DATA + b"\0")
