"""Matches node ids of pytest against the nodes that our tests name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

ANY_NODE = "*"
"""A node that matches every name."""


def matches_node(node: str, excluded_nodes: Iterable[str], name: str) -> bool:
    """Whether a collected name belongs to the node, and to none of `excluded_nodes`."""
    enclosing = [*enclosing_nodes(name)]
    return node in enclosing and not any(one in enclosing for one in excluded_nodes)


def enclosing_nodes(name: str) -> Iterator[str]:
    """The nodes that a collected name belongs to: itself, its function, its classes, `ANY_NODE`."""
    yield name
    function = name.partition("[")[0]
    while function:
        if function != name:
            yield function
        function = function.rpartition("::")[0]
    yield ANY_NODE
