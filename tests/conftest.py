"""How the suite is run: in which order, and how much of it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--whole`: all that `make nightly` tries and `make test` takes samples of."""
    parser.addoption("--whole", action="store_true", help="whole corpora, all sandbox levels")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: the files are shared out among processes in this order, and begun
    last, one would go on alone while the other processes idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
