"""The results of the pipeline as one value, and as JSON. What the truth computes and what the result topics say have
the same shape, so that they can be compared field by field.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

MINUTE_MS: Final = 60_000
SALES_WINDOW_MS: Final = 5 * MINUTE_MS
TOP_SIZE: Final = 10


class Sales(NamedTuple):
    purchases: int
    amount_cents: int


Top = tuple[tuple[str, int], ...]  # product and views, the most viewed first


@dataclass(slots=True)
class Answers:
    """The results of the pipeline. Windows go by the milliseconds of their start; one in which nothing happened is not
    there."""

    sales_5m: dict[int, Sales] = field(default_factory=dict)
    sales_per_minute: dict[int, Sales] = field(default_factory=dict)
    top_viewed_products: dict[int, Top] = field(default_factory=dict)
    dead_letters: dict[str, int] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)  # by topic

    def to_json(self) -> dict[str, Any]:
        return {
            "sales_5m": _sales_rows(self.sales_5m, SALES_WINDOW_MS),
            "sales_per_minute": _sales_rows(self.sales_per_minute, MINUTE_MS),
            "top_viewed_products": [
                _window(start, MINUTE_MS) | {"top": [{"product_id": name, "views": views} for name, views in top]}
                for start, top in sorted(self.top_viewed_products.items())
            ],
            "dead_letters": self.dead_letters,
            "records": self.records,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Answers":
        return cls(
            {start_ms(row): sales(row) for row in found["sales_5m"]},
            {start_ms(row): sales(row) for row in found["sales_per_minute"]},
            {start_ms(row): top(row) for row in found["top_viewed_products"]},
            dict(found["dead_letters"]),
            dict(found["records"]),
        )


def _sales_rows(windows: dict[int, Sales], length_ms: int) -> list[dict[str, Any]]:
    return [_window(start, length_ms) | each._asdict() for start, each in sorted(windows.items())]


def _window(start: int, length_ms: int) -> dict[str, str]:
    return {"window_start": iso(start), "window_end": iso(start + length_ms)}


# A row: the value of a record of a result topic, or a row of the truth's file


def start_ms(row: dict[str, Any]) -> int:
    return epoch_ms(row["window_start"])


def sales(row: dict[str, Any]) -> Sales:
    return Sales(row["purchases"], row["amount_cents"])


def top(row: dict[str, Any]) -> Top:
    return tuple((each["product_id"], each["views"]) for each in row["top"])


def iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def epoch_ms(time: str | int) -> int:
    """Return the milliseconds since 1970 of an ISO time with a zone; a number is one already."""
    if isinstance(time, int):
        return time
    found = datetime.fromisoformat(time)
    if found.tzinfo is None:
        raise ValueError(f"{time!r} does not say its zone")
    return round(found.timestamp() * 1000)
