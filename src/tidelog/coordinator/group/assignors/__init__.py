"""Who gets which partition: what the coordinator of a KIP-848 group decides for its members."""

from collections.abc import Callable
from typing import Final

from tidelog.coordinator.group.assignors import range_assignor, uniform
from tidelog.coordinator.group.assignors.assignor import Assignment, GroupSpec, TopicsSpec

# By the names that members and `group.consumer.assignors` use.
ASSIGNORS: Final[dict[str, Callable[[GroupSpec, TopicsSpec], Assignment]]] = {
    "uniform": uniform.assign,
    "range": range_assignor.assign,
}
