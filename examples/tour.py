"""`make tour`: what lies below the broker, in four stops. Each prints what it did, to be read and believed."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from tidelog.cli.main import version_line
from tidelog.config.load import load_broker_config
from tidelog.config.problems import ConfigError
from tidelog.ports.durable import write_fully
from tidelog.ports.files import OpenMode
from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.fetched import decode_fetched
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem

console = Console()

PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=1@localhost:9093
log.segment.bytes=12x
log.retension.hours=24
"""


def settings() -> None:
    console.rule("[bold]1. Settings: an unmodified server.properties", align="left")
    try:
        load_broker_config(PROPERTIES)
    except ConfigError as error:
        console.print(f"[red]{error}")
    loaded = load_broker_config(PROPERTIES.replace("12x", "16777216"))
    for warning in loaded.warnings:
        console.print(f"[yellow]{warning}")


def codec() -> None:
    console.rule("[bold]2. The wire: one object, every version", align="left")
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    for version in (1, 8, 13):
        data = encode(request, version)
        assert decode_exact(MetadataRequest, data, version) == request
        console.print(f"Metadata v{version:<3}{len(data):>3} bytes  [cyan]{data.hex(' ')}")
    try:
        decode_exact(MetadataRequest, encode(request, 13)[:-3], 13)
    except MalformedMessage as error:
        console.print(f"three bytes short: [red]{error}")


def records() -> None:
    console.rule("[bold]3. Record batches: 1,000 orders through four codecs, to columns", align="left")
    table = Table("codec", "bytes", "rows", "first key", "last value")
    for codec_type in CompressionType:
        builder = BatchBuilder(options=BatchOptions(compression=codec_type))
        for number in range(1000):
            value = f'{{"order": {number}, "cents": {number * 37 % 9999}}}'
            builder.append(1_700_000_000_000 + number, f"customer-{number % 50}".encode(), value.encode())
        batch = builder.build()
        columns = decode_fetched(batch).columns
        k0, k1 = columns.positions[0], columns.positions[1]
        v0, v1 = columns.positions[4 * len(columns) - 2], columns.positions[4 * len(columns) - 1]
        key, value_bytes = columns.data[k0:k1].decode(), columns.data[v0:v1].decode()
        table.add_row(codec_type.name.lower(), f"{len(batch):,}", f"{len(columns):,}", key, value_bytes)
    console.print(table)


def write_and_lose_power(seed: int, *, sync: bool) -> str:
    fs = SimFileSystem(SimClock(), seed)
    file = fs.open("/disk/log", OpenMode.CREATE)
    fs.sync_directory("/disk")
    written = bytes(range(256)) * 16
    write_fully(file, 0, [written])
    if sync:
        file.sync()
    fs.lose_power()
    survived = fs.open("/disk/log", OpenMode.READ).read_at(0, len(written))
    if survived == written:
        return "all there"
    return "torn" if survived else "all lost"


def disk() -> None:
    console.rule("[bold]4. The simulated disk: 500 power cuts, one for each seed", align="left")
    table = Table("4 KiB written, then the power goes", "all there", "torn", "all lost")
    for title, sync in (("with fsync", True), ("without fsync", False)):
        outcomes = Counter(write_and_lose_power(seed, sync=sync) for seed in range(500))
        table.add_row(title, *(str(outcomes[kind]) for kind in ("all there", "torn", "all lost")))
    console.print(table)


def main() -> None:
    console.print(f"[dim]{version_line()}")
    settings()
    codec()
    records()
    disk()


if __name__ == "__main__":
    main()
