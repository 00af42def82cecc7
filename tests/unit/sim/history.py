"""The history of a busy machine from one seed, as one line: run in this process, and in others with another hash seed.

Everything that could bring in an order of its own takes part: many files and names, faults, background work, crashes.
"""

import sys
from hashlib import sha256
from random import Random

from tidelog.ports.errors import HandleClosed, StorageFault
from tidelog.ports.files import File, OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem


def step(fs: SimFileSystem, clock: SimClock, chance: Random, files: list[File]) -> None:
    path = f"/{chance.choice('ab')}/{chance.randrange(20)}"
    file = chance.choice(files) if files else None
    match chance.randrange(9):
        case 0 | 1:
            files.append(fs.open(path, OpenMode.CREATE))
        case 2 | 3 if file:
            file.write_at(chance.randrange(5_000), [chance.randbytes(chance.randrange(3_000))])
        case 4 if file:
            fs.begin_sync(file)
        case 5:
            fs.rename(path, path + "x")
        case 6:
            fs.remove_file(path)
        case 7:
            fs.sync_directory(path[:2])
        case _:
            fs.begin_replace(path, chance.randbytes(100))
    clock.advance(chance.randrange(3))
    fs.completions()


def history(seed: int) -> str:
    clock, chance = SimClock(), Random(seed)
    settings = DiskSettings(short_write_chance=0.2, capacity_bytes=200_000)
    fs = SimFileSystem(clock, seed, {"/a": settings, "/b": settings})
    fs.disk("/a").faults.fail(Op.SYNC, skip=10)
    files: list[File] = []
    for _ in range(4):
        for _ in range(100):
            try:
                step(fs, clock, chance, files)
            except (StorageFault, HandleClosed):
                continue
        fs.lose_power()
        files.clear()
    return f"{fs.trace.digest()} {surviving_bytes(fs)}"


def surviving_bytes(fs: SimFileSystem) -> str:
    digest = sha256()
    for directory in ("/a", "/b"):
        for name in fs.list_directory(directory):
            digest.update(name.encode() + fs.open(f"{directory}/{name}", OpenMode.READ).read_at(0, 1 << 20))
    return digest.hexdigest()


if __name__ == "__main__":
    print("\n".join(history(int(seed)) for seed in sys.argv[1:]))
