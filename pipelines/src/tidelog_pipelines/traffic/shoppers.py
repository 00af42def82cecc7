"""One visit to the shop, as an iterator of what the visitor does: look at products, put some in the cart, perhaps buy.

Each step is the text of an event but for its id and its times, which the generator knows. JSON is written by hand
here: `json.dumps` would cost more than everything else that the generator does.
"""

from collections.abc import Callable, Iterator
from typing import Final

from tidelog_pipelines.traffic.catalogue import BROWSERS, POPULARITY, ROBOTS, USERS_COUNT, Product

PRODUCT_VIEWED: Final = "product_viewed"
ADD_TO_CART: Final = "add_to_cart"
PURCHASE_COMPLETED: Final = "purchase_completed"
TOPICS: Final = (PRODUCT_VIEWED, ADD_TO_CART, PURCHASE_COMPLETED)

BOT_DWELL_MS: Final = 50  # who looks at a product for less than this is a robot
_PATIENCE_MS: Final = 30_000

_DECLARED_ROBOTS: Final = 0.03
_HASTY_ROBOTS: Final = 0.02
_ROBOT_VIEWS: Final = 30
_VIEWS_MAX: Final = 12
_ADDED: Final = 0.3
_BOUGHT: Final = 0.6
_ONE_CLICK: Final = 0.05

Chance = Callable[[], float]  # the next number from the seed, in [0, 1)


# Topic; key; the fields that are the same for the whole visit; dwell_ms; the fields of this event alone; whether it is
# a robot's. A plain tuple: one with names would cost as much to make as the rest of the step.
Step = tuple[str, bytes, str, int, str, bool]


def visit(session_id: str, chance: Chance) -> Iterator[Step]:
    """Yield the steps of one visit. Robots look at much and buy little. The hasty ones do not say what they are: only
    their dwell tells."""
    kind = chance()
    is_declared = kind < _DECLARED_ROBOTS
    is_hasty = not is_declared and kind < _DECLARED_ROBOTS + _HASTY_ROBOTS
    user_id = f"u{int(chance() * USERS_COUNT):06d}"
    agent = _drawn(ROBOTS if is_declared else BROWSERS, chance)
    who = f'"user_id":"{user_id}","session_id":"{session_id}","user_agent":"{agent}"'
    key = user_id.encode()
    cart: list[tuple[Product, int]] = []
    for _ in range(1 + int(chance() * (_ROBOT_VIEWS if is_declared or is_hasty else _VIEWS_MAX))):
        product = POPULARITY[int(chance() * len(POPULARITY))]
        dwell_ms = int(chance() * BOT_DWELL_MS) if is_hasty else _patient_ms(chance)
        yield PRODUCT_VIEWED, key, who, dwell_ms, product.viewed, is_declared or is_hasty
        if chance() < _ADDED:
            quantity = 1 + int(chance() * 3)
            cart.append((product, quantity))
            yield ADD_TO_CART, key, who, _patient_ms(chance), _added(product, quantity), is_declared
    if cart and chance() < _BOUGHT:
        # A purchase by one click is as quick as a robot, and counts all the same.
        dwell_ms = 20 if chance() < _ONE_CLICK else _patient_ms(chance)
        yield PURCHASE_COMPLETED, key, who, dwell_ms, _bought(session_id, cart), is_declared


def _drawn(names: tuple[str, ...], chance: Chance) -> str:
    return names[int(chance() * len(names))]


def _patient_ms(chance: Chance) -> int:
    """Return how long a human looks: mostly not long, and now and then exactly the least that a human needs."""
    return BOT_DWELL_MS + int(_PATIENCE_MS * chance() ** 3)


def _added(product: Product, quantity: int) -> str:
    return f'"product_id":"{product.product_id}","quantity":{quantity},"price_cents":{product.price_cents}'


def _bought(session_id: str, cart: list[tuple[Product, int]]) -> str:
    items = ",".join(
        f'{{"product_id":"{product.product_id}","quantity":{quantity},"price_cents":{product.price_cents}}}'
        for product, quantity in cart
    )
    amount_cents = sum(product.price_cents * quantity for product, quantity in cart)
    return f'"order_id":"o-{session_id}","items":[{items}],"amount_cents":{amount_cents}'
