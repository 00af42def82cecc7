"""Whatever the bytes are, dump and verify report and never raise. The batches of a log are under a checksum, so damage
to them never goes unnoticed."""

import random

import pytest
from tests.unit.storage.handmade import DATA, FIRST, LEDGER, ORDERS, SECOND, healthy, read, write

from tidelog.cli.log.decoders import DECODERS
from tidelog.sim.files import SimFileSystem
from tidelog.storage.inspect.dump import DumpOptions, dump_file
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.verify import VerifyOptions, verify_directory

FILES = [f"{directory}/{name}" for directory in (DATA, ORDERS, LEDGER) for name in healthy().list_directory(directory)]
FILES = [path for path in FILES if not healthy().stat(path).is_directory]
DAMAGES_EACH = 12


def damaged(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    match chance.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + chance.randbytes(chance.randrange(1, 40)) + data[at:]
        case 2:
            return data + bytes(chance.randrange(1, 200))
        case _:
            return data[: at - 1] + bytes([data[at - 1] ^ 1 << chance.randrange(8)]) + data[at:] if data else b"?"


def look_at_everything(fs: SimFileSystem, path: str) -> list[Finding]:
    for decoder in (None, DECODERS["cluster-metadata"], DECODERS["offsets"]):
        list(dump_file(fs, path, DumpOptions(records=True, verify_index=True, decoder=decoder)))
    items = verify_directory(fs, DATA, VerifyOptions(check_records=True))
    return [item for item in items if isinstance(item, Finding)]


@pytest.mark.parametrize("path", FILES)
def test_any_damage_is_reported_and_nothing_raises(path: str) -> None:
    chance = random.Random(path)
    fs = healthy()
    original = read(fs, path)
    for _ in range(DAMAGES_EACH):
        broken = damaged(original, chance)
        write(fs, path, broken)
        found = look_at_everything(fs, path)
        if path.endswith(".log") and broken != original:
            assert found, broken


@pytest.mark.parametrize("path", [f"{FIRST}.log", f"{SECOND}.log", f"{LEDGER}/00000000000000000000.log"])
def test_every_single_flipped_bit_of_a_log_is_found(path: str) -> None:
    fs = healthy()
    original = read(fs, path)
    for position in range(0, len(original), 3):
        write(fs, path, original[:position] + bytes([original[position] ^ 4]) + original[position + 1 :])
        items = verify_directory(fs, DATA, VerifyOptions())
        assert any(isinstance(item, Finding) for item in items), position
