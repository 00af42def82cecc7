"""Where the pipeline's answers differ from the truth: one check a result, each with every difference in words."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tidelog_pipelines.traffic.answers import Answers, Sales, Top, iso

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    expected: str  # in sum
    found: str
    differences: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return not self.differences


def verdict(truth: Answers, found: Answers, faults: Iterable[str] = ()) -> list[Check]:
    """Compare the results with the truth, one check a result. `faults`: what is wrong with the results in
    themselves."""
    listed = tuple(faults)
    return [
        _check("records sent", truth.records, found.records, _records, str, _number),
        _check("sales, five minutes", truth.sales_5m, found.sales_5m, _windows, iso, _sales),
        _check("sales per minute", truth.sales_per_minute, found.sales_per_minute, _total, iso, _sales),
        _check("top viewed products", truth.top_viewed_products, found.top_viewed_products, _windows, iso, _top),
        _check("dead letters", truth.dead_letters, found.dead_letters, _records, str, _number),
        Check("the results themselves", "no faults", f"{len(listed)} faults" if listed else "no faults", listed),
    ]


def is_right(checks: Iterable[Check]) -> bool:
    return all(check.is_right for check in checks)


def _check(
    name: str,
    truth: Mapping[Key, Value],
    found: Mapping[Key, Value],
    sum_of: Callable[[Mapping[Key, Value]], str],
    shown_key: Callable[[Key], str],
    shown: Callable[[Value], str],
) -> Check:
    differences: list[str] = []
    for key in sorted({*truth, *found}, key=shown_key):
        if key not in found:
            differences.append(f"{shown_key(key)}: missing, expected {shown(truth[key])}")
        elif key not in truth:
            differences.append(f"{shown_key(key)}: {shown(found[key])}, expected nothing")
        elif truth[key] != found[key]:
            differences.append(f"{shown_key(key)}: {shown(found[key])}, expected {shown(truth[key])}")
    return Check(name, sum_of(truth), sum_of(found), tuple(differences))


def _records(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values()):,}"


def _windows(windows: Mapping[int, object]) -> str:
    return f"{len(windows):,} windows"


def _total(windows: Mapping[int, Sales]) -> str:
    """Return the takings. Every purchase is in one minute, so they are the sum over all minutes."""
    purchases = sum(each.purchases for each in windows.values())
    return f"{purchases:,} for {money(sum(each.amount_cents for each in windows.values()))}"


def money(cents: int) -> str:
    return f"{cents / 100:,.2f}"


def _number(number: int) -> str:
    return f"{number:,}"


def _sales(sales: Sales) -> str:
    return f"{sales.purchases:,} for {money(sales.amount_cents)}"


def _top(top: Top) -> str:
    return ", ".join(f"{product_id} {views:,}" for product_id, views in top) or "no product"
