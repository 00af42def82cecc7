"""SCRAM (RFC 5802, 7677): both sides show that they know the password, and neither sends it.

    we                                   broker
    n,,n=user,r=OURS            ->
                                <-       r=OURS+THEIRS,s=salt,i=iterations
    c=biws,r=...,p=proof        ->       (knows now that we know it)
                                <-       v=signature   (we know now that it knows it; without that we do not go on)

As Kafka's, it takes user and password as they are, in UTF-8: the RFC would have them normalised by SASLprep, but then
a password that Kafka has stored otherwise would never fit.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Final

# Fewer would make a stolen exchange cheap to try passwords on; more is a broker that wants to keep us busy.
ITERATIONS_MIN: Final = 4_096
ITERATIONS_MAX: Final = 1_000_000
_FIRST: Final = re.compile(r"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,9})(?:,[A-Za-z]=[^,]*)*")
_NO_BINDING: Final = "n,,"


class ScramError(Exception):
    """An answer of the broker that one that knows the password would not give."""


class Scram:
    """One exchange, from the client's side. `hash_name`: as hashlib calls it."""

    def __init__(self, hash_name: str, user: str, password: str, nonce: str) -> None:
        self._hash = hash_name
        self._password = password.encode()
        self._nonce = nonce
        self._first_bare = f"n={_escaped(user)},r={nonce}"
        self._signature: bytes | None = None  # the one that the broker has to show

    def first(self) -> bytes:
        return (_NO_BINDING + self._first_bare).encode()

    def final(self, challenge: bytes) -> bytes:
        """Return the answer to the broker's challenge."""
        said = _text(challenge)
        nonce, salt, iterations = self._read_first(said)
        channel = b64encode(_NO_BINDING.encode()).decode()
        without_proof = f"c={channel},r={nonce}"
        signed = f"{self._first_bare},{said},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        client_signature = self._hmac(hashlib.new(self._hash, client_key).digest(), signed)
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, client_signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, outcome: bytes) -> None:
        """Raise ScramError unless the broker has shown that it knows the password, too."""
        said = _text(outcome)
        if said.startswith("e="):
            raise ScramError(f"the broker ended the exchange: {said[2:].partition(',')[0]}")
        shown = _decoded(said[2:].partition(",")[0]) if said.startswith("v=") else b""
        if self._signature is None or not hmac.compare_digest(shown, self._signature):
            raise ScramError("the broker did not show that it knows the password: it may not be the one it says")

    def _read_first(self, said: str) -> tuple[str, bytes, int]:
        found = _FIRST.fullmatch(said)
        if found is None:  # among others where it begins with m=, an extension that we would have to know
            raise ScramError("the broker's challenge is not that of SCRAM")
        nonce, iterations = found[1], int(found[3])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("the broker's nonce does not go on from ours: somebody is replaying an old exchange")
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            allowed = f"{ITERATIONS_MIN} to {ITERATIONS_MAX}"
            raise ScramError(f"the broker asks for {iterations} iterations, {allowed} are allowed")
        return nonce, _decoded(found[2]), iterations

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)


def _escaped(user: str) -> str:
    return user.replace("=", "=3D").replace(",", "=2C")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ScramError("the broker's answer is not text") from None


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise ScramError("the broker's answer is not base64 where it should be") from None
