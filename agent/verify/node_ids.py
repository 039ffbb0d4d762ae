"""Which of the tests that pytest collects in a file a test of ours stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

EVERY = "*"
"""A node that stands for every name."""


def stands_for(node: str, without: Iterable[str], name: str) -> bool:
    """Whether a collected name is the node, one of its parameters or in its class, and none of
    those that it is `without`."""
    above = [*nodes_above(name)]
    return node in above and not any(one in above for one in without)


def nodes_above(name: str) -> Iterator[str]:
    """The nodes that a collected name belongs to: its own, that of all its parameters, its
    classes', and that of all."""
    yield name
    function = name.partition("[")[0]
    while function:
        if function != name:
            yield function
        function = function.rpartition("::")[0]
    yield EVERY
