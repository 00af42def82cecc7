"""What the records of the internal topics mean. Here, because no layer below knows both the coordinators' records and
the metadata's."""

from collections.abc import Callable
from typing import Final

from tidelog.cli.output.plain import message_to_plain, to_plain
from tidelog.coordinator.group.classic.subscription import CONSUMER_PROTOCOL_TYPE
from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.records.classic import GroupMetadataValue
from tidelog.coordinator.record_framing import RecordTypesById, decode_record
from tidelog.coordinator.share.records import SHARE_RECORDS
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.metadata.record_framing import decode_metadata_record
from tidelog.protocol.codec import decode
from tidelog.protocol.errors import MalformedMessage, ProtocolError
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tidelog.protocol.schema import Buffer, schema_of
from tidelog.protocol.stored import PREFIX_BYTES, read_prefix
from tidelog.records.record import Record

Meaning = dict[str, object]
Decoder = Callable[[Record], Meaning | None]


def decode_metadata(record: Record) -> Meaning:
    if record.value is None:
        raise MalformedMessage("a metadata record without a value", 0)
    message, version = decode_metadata_record(record.value)
    return {"type": type(message).__name__, "version": version, "value": message}


def _coordinator_decoder(types: RecordTypesById) -> Decoder:
    def decode_one(record: Record) -> Meaning:
        if record.key is None:
            raise MalformedMessage("a coordinator's record without a key", 0)
        decoded = decode_record(types, record.key, record.value)
        return {
            "type": type(decoded.key).__name__.removesuffix("Key"),
            "version": decoded.value_version,
            "key": decoded.key,
            "value": _with_subscriptions(decoded.value),
        }

    return decode_one


def _with_subscriptions(value: object) -> object:
    """Decode the subscriptions and assignments in the record of a classic group, which are bytes to the coordinator.
    Those of consumers have a known form."""
    if not isinstance(value, GroupMetadataValue) or value.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return value
    plain = message_to_plain(value)
    for member, shown in zip(value.members, plain["members"], strict=True):
        shown["subscription"] = _decoded(ConsumerProtocolSubscription, member.subscription)
        shown["assignment"] = _decoded(ConsumerProtocolAssignment, member.assignment)
    return plain


def _decoded(cls: type, embedded: Buffer) -> object:
    """Decode an embedded message. A newer version is read as the newest known; what cannot be decoded stays as it is:
    the coordinator does not look at it either."""
    try:
        version = min(read_prefix(embedded), schema_of(cls).versions.highest)
        return to_plain(decode(cls, embedded, version, PREFIX_BYTES)[0])
    except ProtocolError:
        return to_plain(embedded)


DECODERS: Final[dict[str, Decoder]] = {
    "offsets": _coordinator_decoder(GROUP_RECORDS),
    "transaction-log": _coordinator_decoder(TRANSACTION_RECORDS),
    "share-group-state": _coordinator_decoder(SHARE_RECORDS),
    "cluster-metadata": decode_metadata,
}
_TOPICS: Final = {
    "__consumer_offsets": "offsets",
    "__transaction_state": "transaction-log",
    "__share_group_state": "share-group-state",
    "__cluster_metadata": "cluster-metadata",
}
_BOOTSTRAP_SNAPSHOT: Final = "/bootstrap.checkpoint"


def decoder_for(path: str) -> Decoder | None:
    """Return the decoder of the internal topic in whose directory the file lies."""
    if path.endswith(_BOOTSTRAP_SNAPSHOT):
        return decode_metadata
    topic = path.rpartition("/")[0].rpartition("/")[2].rpartition("-")[0]
    return DECODERS[_TOPICS[topic]] if topic in _TOPICS else None
