from collections.abc import Callable
from copy import deepcopy

import pytest

from tidelog_pipelines.traffic.answers import Answers, Sales
from tidelog_pipelines.traffic.verdict import is_right, verdict

MINUTE = 60_000
TRUTH = Answers(
    sales_5m={0: Sales(3, 600), MINUTE: Sales(2, 400)},
    sales_per_minute={0: Sales(1, 200), MINUTE: Sales(2, 400)},
    top_viewed_products={0: (("p1", 5), ("p2", 3))},
    dead_letters={"not JSON": 2, "too late": 1},
    records={"product_viewed": 10, "add_to_cart": 0},
)

Change = Callable[[Answers], object]
CHANGES: dict[str, tuple[Change, str, str]] = {
    "a window is missing": (
        lambda found: found.sales_5m.pop(0),
        "sales, five minutes",
        "1970-01-01T00:00:00.000Z: missing, expected 3 for 6.00",
    ),
    "a window too many": (
        lambda found: found.sales_per_minute.update({2 * MINUTE: Sales(1, 5)}),
        "sales per minute",
        "1970-01-01T00:02:00.000Z: 1 for 0.05, expected nothing",
    ),
    "a cent": (
        lambda found: found.sales_per_minute.update({0: Sales(1, 201)}),
        "sales per minute",
        "1970-01-01T00:00:00.000Z: 1 for 2.01, expected 1 for 2.00",
    ),
    "a purchase": (
        lambda found: found.sales_5m.update({0: Sales(4, 600)}),
        "sales, five minutes",
        "1970-01-01T00:00:00.000Z: 4 for 6.00, expected 3 for 6.00",
    ),
    "the order of products": (
        lambda found: found.top_viewed_products.update({0: (("p2", 3), ("p1", 5))}),
        "top viewed products",
        "1970-01-01T00:00:00.000Z: p2 3, p1 5, expected p1 5, p2 3",
    ),
    "a dead letter": (
        lambda found: found.dead_letters.update({"too late": 2}),
        "dead letters",
        "too late: 2, expected 1",
    ),
    "another reason": (
        lambda found: found.dead_letters.update({"ugly": 1}),
        "dead letters",
        "ugly: 1, expected nothing",
    ),
    "a record that was lost": (
        lambda found: found.records.update({"product_viewed": 9}),
        "records sent",
        "product_viewed: 9, expected 10",
    ),
}


def test_the_truth_agrees_with_itself() -> None:
    checks = verdict(TRUTH, deepcopy(TRUTH))
    assert is_right(checks)
    assert [check.expected for check in checks] == [check.found for check in checks]
    assert len(checks) == 6


@pytest.mark.parametrize("name", CHANGES)
def test_each_difference_is_seen_where_it_is(name: str) -> None:
    change, of, text = CHANGES[name]
    found = deepcopy(TRUTH)
    change(found)
    checks = verdict(TRUTH, found)
    assert not is_right(checks)
    assert {check.name: check.differences for check in checks if not check.is_right} == {of: (text,)}


def test_nothing_found_is_not_right() -> None:
    assert sum(not check.is_right for check in verdict(TRUTH, Answers())) == 5


def test_faults_of_the_results_are_differences() -> None:
    checks = verdict(TRUTH, deepcopy(TRUTH), ["a dead letter came twice"])
    assert not is_right(checks)
    assert checks[-1].differences == ("a dead letter came twice",)
