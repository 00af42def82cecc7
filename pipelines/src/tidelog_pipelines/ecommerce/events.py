"""The shop's events: the topics that they come in, the fields that each kind must have, and the rules for them.

Plain data without Spark, so that the rules can be read (and tested) in one place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

FieldType: TypeAlias = Literal["string", "integer"]

PRODUCT_VIEWED: Final = "product_viewed"
ADD_TO_CART: Final = "add_to_cart"
PURCHASE_COMPLETED: Final = "purchase_completed"
# The columns by which a record is told from all others.
COORDINATES: Final = ("topic", "partition", "offset")
KINDS: Final = (PRODUCT_VIEWED, ADD_TO_CART, PURCHASE_COMPLETED)

LATENESS_MS_MAX: Final = 30_000  # from event time to the record's timestamp; what took longer is a dead letter
FUTURE_MS_MAX: Final = 30_000  # the other way round: one event dated next year would make all others late
REPEAT_MS_MAX: Final = 15_000  # a repeated event comes within 10 s of the first, in the same partition; and some room
HUMAN_DWELL_MS_MIN: Final = 50  # nobody reads a product's page in less
BOT_WORDS: Final = ("bot", "crawler", "spider", "headless")
TOP_PRODUCTS: Final = 10

COMMON_FIELDS: Final[dict[str, FieldType]] = {
    "event_id": "string",
    "user_id": "string",
    "session_id": "string",
    "at": "integer",
    "user_agent": "string",
    "dwell_ms": "integer",
}
OWN_FIELDS: Final[dict[str, dict[str, FieldType]]] = {
    PRODUCT_VIEWED: {"product_id": "string", "category": "string", "price_cents": "integer"},
    ADD_TO_CART: {"product_id": "string", "quantity": "integer", "price_cents": "integer"},
    PURCHASE_COMPLETED: {"order_id": "string", "amount_cents": "integer"},
}
ITEM_FIELDS: Final[dict[str, FieldType]] = {"product_id": "string", "quantity": "integer", "price_cents": "integer"}
# Why a record is a dead letter; the first that holds is given.
NOT_JSON: Final = "not JSON"  # nor is an array, nor bytes that are not UTF-8
WRONG_FIELD: Final = "missing or wrong-typed field"
NEGATIVE_AMOUNT: Final = "negative amount"
TOO_LATE: Final = "too late"
IN_THE_FUTURE: Final = "in the future"

# Spark's JSON reader takes the number 5 for the string "5"; a VARIANT knows the one from the other, for ten times the
# price. So strings are read as such, and looked at again where they could be something else.
QUICK_TYPES: Final[dict[FieldType, str]] = {"string": "string", "integer": "bigint"}
EXACT_TYPES: Final[dict[FieldType, str]] = {"string": "variant", "integer": "bigint"}


@dataclass(frozen=True, slots=True)
class EventTopics:
    """The topics of the events, one a kind."""

    prefix: str = ""

    @property
    def names(self) -> dict[str, str]:
        """The topic of each kind."""
        return {kind: self.prefix + kind for kind in KINDS}

    def kind(self, topic: str) -> str:
        return topic.removeprefix(self.prefix)

    @property
    def counted(self) -> tuple[str, ...]:
        """The topics that results are made of: nothing is computed from carts, so nobody reads them for that."""
        return (self.names[PRODUCT_VIEWED], self.names[PURCHASE_COMPLETED])

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(self.names.values())


def all_fields() -> dict[str, FieldType]:
    fields = dict(COMMON_FIELDS)
    for own in OWN_FIELDS.values():
        fields.update(own)
    return fields


def json_schema() -> str:
    """Return the schema of all kinds together, as Spark writes one: a single parse serves all topics."""
    fields = [f"{name} {QUICK_TYPES[type_]}" for name, type_ in all_fields().items()]
    return ", ".join([*fields, items_schema(QUICK_TYPES)])


def items_schema(types: Mapping[FieldType, str]) -> str:
    items = ",".join(f"{name}:{types[type_]}" for name, type_ in ITEM_FIELDS.items())
    return f"items array<struct<{items}>>"
