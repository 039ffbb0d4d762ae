"""The order of the suite, whose files are shared out among processes in this order."""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: begun last, one would go on alone while the other processes idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
