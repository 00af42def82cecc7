"""What the shop sells, who visits it, and how popular each product is.

Popularity follows a power law, as it does in shops: a few products have most of the views. The law is laid out as a
table in which a product stands as often as it is popular, because drawing from a table is one multiplication.
"""

from typing import Final, NamedTuple

PRODUCTS_COUNT: Final = 500
USERS_COUNT: Final = 50_000
_EXPONENT: Final = 1.1
_TABLE_SIZE: Final = 20_000

# Not all ASCII: a pipeline that gets encodings wrong should be seen to.
_CATEGORIES: Final = ("books", "café", "garden", "music", "outdoor", "games", "kitchen", "Möbel")

BROWSERS: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) Firefox/144.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1) Safari/605.1",
    "Mozilla/5.0 (Windows NT 10.0) Chrome/142.0",
    "Mozilla/5.0 (Android 16; Mobile) Chrome/142.0",
    "TidelogShop/3.2 (about the house)",  # has no word of a robot in it, though it comes near
)
# One for each word by which a robot tells, in all kinds of spelling.
ROBOTS: Final = (
    "Mozilla/5.0 (compatible; Googlebot/2.1)",
    "price-CRAWLER/0.9",
    "Spider of nobody",
    "Mozilla/5.0 HeadlessChrome/142.0",
)


class Product(NamedTuple):
    product_id: str
    category: str
    price_cents: int
    viewed: str  # its fields in an event of that name, written once and for all


def _product(rank: int) -> Product:
    product_id, category, price_cents = f"p{rank:04d}", _CATEGORIES[rank % len(_CATEGORIES)], 199 + rank * 7919 % 20_000
    viewed = f'"product_id":"{product_id}","category":"{category}","price_cents":{price_cents}'
    return Product(product_id, category, price_cents, viewed)


def _popularity() -> list[Product]:
    weights = [rank**-_EXPONENT for rank in range(1, PRODUCTS_COUNT + 1)]
    shares = [max(1, round(_TABLE_SIZE * weight / sum(weights))) for weight in weights]
    return [product for rank, count in enumerate(shares) for product in [_product(rank)] * count]


POPULARITY: Final = _popularity()
