"""For every test: what it does to the process it leaves as it was."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _the_log_as_it_was() -> Iterator[None]:
    """A command that sets up logging writes to streams that end with its test, and keeps lines from pytest's own."""
    logger = logging.getLogger("tidelog")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before
