"""Quotas of clients, by the combination of user, client id and address that they hold for."""

from typing import NamedTuple
from zlib import crc32


class QuotaEntityPart(NamedTuple):
    """One dimension of an entity (`user`, `client-id`, `ip`); the name None stands for the default entity."""

    type: str
    name: str | None


# Sorted by type: two records that name the parts in a different order mean the same entity.
QuotaEntity = tuple[QuotaEntityPart, ...]


def number_of_entity(entity: QuotaEntity) -> int:
    """Return the number of an entity by which a SharedMap finds its bucket."""
    return crc32(repr(entity).encode())
