"""What the controller still writes while the disk of its log is full: what makes room, or keeps the nodes alive.

The room that is left then is small, and needed for the records that delete topics. Whatever only adds to the metadata
waits until there is more.
"""

from typing import Any, Final

from tidelog.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tidelog.protocol.messages.alter_configs import AlterConfigsRequest
from tidelog.protocol.messages.create_partitions import CreatePartitionsRequest
from tidelog.protocol.messages.create_topics import CreateTopicsRequest
from tidelog.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.update_features import UpdateFeaturesRequest

# Parts of the names of settings that say what is kept, for how long, and where.
SETTINGS_THAT_MAKE_ROOM: Final = (
    "cleaner",
    "cleanup",
    "compaction",
    "cordoned",
    "delete.delay",
    "reserved",
    "retention",
    "segment",
)


def only_adds(message: Any) -> bool:
    """Tell whether a request makes the metadata longer, and frees no room by what it asks for."""
    match message:
        case CreateTopicsRequest() | CreatePartitionsRequest() | UpdateFeaturesRequest() | AllocateProducerIdsRequest():
            return True
        case IncrementalAlterConfigsRequest() | AlterConfigsRequest():
            names = [config.name for resource in message.resources for config in resource.configs]
            return not all(_may_make_room(name) for name in names)
        case _:
            return False


def _may_make_room(setting: str) -> bool:
    return any(part in setting for part in SETTINGS_THAT_MAKE_ROOM)
