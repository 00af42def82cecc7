"""What can go wrong between bytes and messages, each with a type of its own.

A peer can cause `MalformedMessage`, `InvalidFrameSize` and `CorrelationMismatch`: the owner of the connection closes
it, and nobody else notices. `EncodeError` and its kind, `UnsupportedVersion` and `SchemaError` are ours: a handler or
a declaration asked for something that the protocol cannot carry.
"""


class ProtocolError(Exception):
    """Bytes and messages do not agree."""


class MalformedMessage(ProtocolError):
    """The bytes are not the message that they should be."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} (at byte {position})")
        self.what = what
        self.position = position


class TooManyElements(ProtocolError):
    """The arrays of a message have more elements than the reader takes. The bytes may be right all the same."""

    def __init__(self, position: int) -> None:
        super().__init__(f"more array elements than are taken in one request (at byte {position})")
        self.position = position


class MessageTooLarge(ProtocolError):
    """An encoded message takes more bytes than its writer was given."""


class EncodeError(ProtocolError):
    """The message cannot be written: a value out of range, a null that the version does not allow."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}")
        self.what = what
        self.reason = reason


class UnsupportedField(EncodeError):
    """A field holds something, the version cannot carry the field, and it is not one that may be left out."""

    def __init__(self, what: str, version: int) -> None:
        super().__init__(what, f"version {version} cannot carry it and it is neither default nor ignorable")
        self.version = version


class UnsupportedVersion(ProtocolError):
    """The message is not declared in this version."""

    def __init__(self, name: str, version: int, supported: object) -> None:
        super().__init__(f"{name} has no version {version}, it has {supported}")
        self.version = version


class InvalidFrameSize(ProtocolError):
    """The size in front of a frame is negative or beyond the limit. The stream cannot be read any further."""

    def __init__(self, size: int, limit: int) -> None:
        # The first bytes of a TLS handshake, read as a size.
        hint = "; it looks like TLS, which is not spoken on this connection" if size >> 16 == 0x1603 else ""
        super().__init__(f"a frame of {size} bytes, where 0 to {limit} are allowed{hint}")
        self.size = size
        self.limit = limit


class CorrelationMismatch(ProtocolError):
    """A response that is not the one that is due: the connection cannot be trusted any further."""

    def __init__(self, expected: int | None, received: int) -> None:
        due = "no response is due" if expected is None else f"{expected} is due"
        super().__init__(f"a response with correlation id {received}, where {due}")
        self.expected = expected
        self.received = received


class SchemaError(TypeError):
    """A declaration that cannot be compiled. Never caused by a peer: the code has to change."""
