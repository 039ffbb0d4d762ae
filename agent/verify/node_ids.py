"""Matches node ids of pytest against the nodes that our tests name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

ANY_NODE = "*"
"""A node that matches every name."""


def matches_node(node: str, excluded_nodes: Iterable[str], name: str) -> bool:
    """Whether a collected name belongs to the node, and to none of `excluded_nodes`."""
    above = [*enclosing_nodes(name)]
    return node in above and not any(one in above for one in excluded_nodes)


def enclosing_nodes(name: str) -> Iterator[str]:
    """The nodes that a collected name belongs to: itself, its function, its classes, `EVERY`."""
    yield name
    function = name.partition("[")[0]
    while function:
        if function != name:
            yield function
        function = function.rpartition("::")[0]
    yield ANY_NODE
