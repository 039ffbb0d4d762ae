"""Which of the tests that pytest collects in a file a test of ours stands for."""

from __future__ import annotations

from collections.abc import Iterable


def stands_for(node: str, without: Iterable[str], name: str) -> bool:
    """Whether a collected name is the node, one of its parameters or in its class, and none of
    those that it is `without`; the node `*` is every name."""
    return (node == "*" or _is_of(node, name)) and not any(_is_of(one, name) for one in without)


def _is_of(node: str, name: str) -> bool:
    return name == node or name.startswith((f"{node}[", f"{node}::"))
