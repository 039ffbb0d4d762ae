"""Matches node ids of pytest against the nodes that our tests name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

EVERY = "*"
"""A node that matches every name."""


def stands_for(node: str, without: Iterable[str], name: str) -> bool:
    """Whether a collected name belongs to the node, and to none of the nodes in `without`."""
    above = [*nodes_above(name)]
    return node in above and not any(one in above for one in without)


def nodes_above(name: str) -> Iterator[str]:
    """The nodes that a collected name belongs to: itself, its function, its classes, `EVERY`."""
    yield name
    function = name.partition("[")[0]
    while function:
        if function != name:
            yield function
        function = function.rpartition("::")[0]
    yield EVERY
