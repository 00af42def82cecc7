"""What to do about an error, in a sentence; the part of an error text that saves somebody a search."""

from typing import Final

from tidelog.model.errors import ErrorCode

_STEPS: Final[dict[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "create it with `tidelog topics create`, or look with `tidelog topics list`",
    ErrorCode.TOPIC_ALREADY_EXISTS: "choose another name, or alter the one that is there",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "use letters, digits, `.`, `_` and `-`, 249 of them at most",
    ErrorCode.LEADER_NOT_AVAILABLE: "try again; if it lasts, see which broker is down with `tidelog cluster describe`",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "try again; leadership is moving",
    ErrorCode.NOT_CONTROLLER: "try again; the controller is moving",
    ErrorCode.REQUEST_TIMED_OUT: "try again; if it lasts, see how busy the brokers are",
    ErrorCode.NETWORK_EXCEPTION: "see that the broker runs and that its advertised address is reachable from here",
    ErrorCode.MESSAGE_TOO_LARGE: "send smaller records, or raise max.message.bytes of the topic",
    ErrorCode.RECORD_LIST_TOO_LARGE: "send smaller batches, or raise segment.bytes of the topic",
    ErrorCode.INVALID_RECORD: "see the records named: a compacted topic needs keys, and times must be near the present",
    ErrorCode.INVALID_TIMESTAMP: "send times that message.timestamp.before.max.ms and .after.max.ms of the topic allow",
    ErrorCode.NOT_ENOUGH_REPLICAS: "bring replicas back, or lower min.insync.replicas of the topic",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "bring replicas back; the records are written, but on too few of them",
    ErrorCode.INVALID_PARTITIONS: "ask for one partition or more, and never for fewer than there are",
    ErrorCode.INVALID_REPLICATION_FACTOR: "ask for no more replicas than there are brokers",
    ErrorCode.INVALID_CONFIG: "see the name and value; `tidelog configs get` lists what there is",
    ErrorCode.OFFSET_OUT_OF_RANGE: "start from earliest or latest, or see the range with `tidelog topics offsets`",
    ErrorCode.KAFKA_STORAGE_ERROR: "see the broker's log: a disk is full or failing",
    ErrorCode.UNSUPPORTED_VERSION: "upgrade the broker, or ask for less",
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: "choose another codec",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask for the rights on the topic",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ask for the rights on the cluster",
    ErrorCode.POLICY_VIOLATION: "see the policy named",
    ErrorCode.UNKNOWN_TOPIC_ID: "the topic was deleted, or made anew; look with `tidelog topics list`",
    ErrorCode.INVALID_PRODUCER_EPOCH: "start a new producer; this one was fenced",
    ErrorCode.PRODUCER_FENCED: "another producer took over the transactional id; close this one",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "start a new producer; the coordinator has forgotten the producer id",
    ErrorCode.INVALID_TXN_STATE: "see where the transaction stands with `tidelog transactions describe`",
    ErrorCode.TRANSACTION_ABORTABLE: "abort the transaction and begin again",
    ErrorCode.CONCURRENT_TRANSACTIONS: "try again; the transaction before is still being ended",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "ask for no more than transaction.max.timeout.ms of the broker",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "look with `tidelog transactions list`",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "ask for the rights on the transactional id",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "try again; if it lasts, see which broker is down: `tidelog cluster describe`",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "try again; the coordinator has just moved, and loads what it has to know",
    ErrorCode.NOT_COORDINATOR: "try again; the coordinator is moving",
    ErrorCode.GROUP_ID_NOT_FOUND: "look with `tidelog groups list`",
    ErrorCode.INVALID_GROUP_ID: "give the group a name",
    ErrorCode.NON_EMPTY_GROUP: "stop its members first; `tidelog groups describe` names them",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that subscribe to it; `tidelog groups describe` names them",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask for the rights on the group",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "stop a member, or raise the group's size limit on the broker",
    ErrorCode.UNSUPPORTED_ASSIGNOR: "choose one that group.consumer.assignors of the broker names",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "see the pattern; it is read as RE2 reads it",
    ErrorCode.UNRELEASED_INSTANCE_ID: "another member has the instance id: stop it, or choose another",
    ErrorCode.FENCED_INSTANCE_ID: "another member took over the instance id; stop one of the two",
}


# What the broker says about these is complete: which setting, why its value will not do, and what would.
_SAID_BY_THE_BROKER: Final = (ErrorCode.INVALID_CONFIG,)


def next_step(code: ErrorCode, message: str | None = None) -> str:
    """Return what to do about an error, "" where nothing more is to be said. `message` is what the broker said."""
    return "" if message and code in _SAID_BY_THE_BROKER else _STEPS.get(code, "")
