"""SCRAM by the examples of its RFCs, and against brokers that do not know the password, or ask for too many
iterations."""

from base64 import b64encode

import pytest

from tidelog.client.security.scram import Scram, ScramError

NONCE = "rOprNGfwEbeRWgbNEkqO"
WHOLE_NONCE = NONCE + "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
CHALLENGE = f"r={WHOLE_NONCE},s={SALT},i=4096"
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def begun(user: str = "user") -> Scram:
    scram = Scram("sha256", user, "pencil", NONCE)
    scram.first()
    return scram


def test_the_example_of_rfc_7677() -> None:
    scram = Scram("sha256", "user", "pencil", NONCE)
    assert scram.first() == f"n,,n=user,r={NONCE}".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert scram.final(CHALLENGE.encode()) == f"c=biws,r={WHOLE_NONCE},p={proof}".encode()
    scram.verify(SIGNATURE)
    scram.verify(SIGNATURE + b",x=an extension")


def test_the_example_of_rfc_5802() -> None:
    scram = Scram("sha1", "user", "pencil", "fyko+d2lbbFgONRv9qkxdawL")
    assert scram.first() == b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL"
    said = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    answer = b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
    assert scram.final(said) == answer
    scram.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_user_names_are_escaped() -> None:
    assert Scram("sha256", "a=b,cé", "x", NONCE).first() == f"n,,n=a=3Db=2Ccé,r={NONCE}".encode()


@pytest.mark.parametrize(
    ("challenge", "problem"),
    [
        (CHALLENGE.replace(NONCE, "x" * len(NONCE)), "replaying"),
        (CHALLENGE.replace(WHOLE_NONCE, NONCE), "replaying"),
        (CHALLENGE.replace("4096", "4095"), "4095 iterations"),
        (CHALLENGE.replace("4096", "1000001"), "1000001 iterations"),
        (CHALLENGE.replace("4096", "9" * 12), "not that of SCRAM"),
        (CHALLENGE.replace("4096", "-1"), "not that of SCRAM"),
        ("m=needed," + CHALLENGE, "not that of SCRAM"),
        (CHALLENGE.replace(SALT, "a=b"), "base64"),
        ("", "not that of SCRAM"),
        ("e=unknown-user", "not that of SCRAM"),
    ],
)
def test_challenges_that_are_not_answered(challenge: str, problem: str) -> None:
    with pytest.raises(ScramError, match=problem):
        begun().final(challenge.encode())


@pytest.mark.parametrize(
    ("outcome", "problem"),
    [
        (b"v=" + b64encode(bytes(32)), "did not show"),
        (b"v=", "did not show"),
        (b"", "did not show"),
        (b"v=!", "base64"),
        (b"\xff", "not text"),
        (b"e=invalid-proof", "ended the exchange: invalid-proof"),
    ],
)
def test_a_broker_that_does_not_know_the_password(outcome: bytes, problem: str) -> None:
    scram = begun()
    scram.final(CHALLENGE.encode())
    with pytest.raises(ScramError, match=problem):
        scram.verify(outcome)


def test_a_signature_before_the_challenge_is_worth_nothing() -> None:
    with pytest.raises(ScramError, match="did not show"):
        begun().verify(b"v=")
