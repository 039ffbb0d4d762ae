"""Values that reach nothing: in a long text, few wrong answers come from them.

On one long line all statements are alike suspicious, since blame goes by lines. What is stored
and then read by nothing that matters can be set apart all the same. A program of usual length is
left alone: there, a value that nothing reads is rather a sign that another was meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.program import Program

Assigned = ast.Assign | ast.AnnAssign | ast.AugAssign
LARGE = 4_000
"""Nodes of a long text."""
_ACTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
"""What may do more than give a value."""
_SEES_ALL = frozenset({"locals", "vars", "globals", "eval", "exec", "dir"})


def idle_nodes(program: Program, outside: frozenset[str] = frozenset()) -> frozenset[ast.AST]:
    """All nodes of values given to plain names that no result, condition or call depends on.

    A name counts as read wherever in the text it is read; `outside` are those that the tests
    mention.
    """
    if len(program.nodes) <= LARGE:
        return frozenset()
    quiet: list[tuple[Assigned, frozenset[str]]] = []
    needed = {*outside}
    pending: list[ast.AST] = [program.tree]
    while pending:
        node = pending.pop()
        is_field = isinstance(program.parents.get(node), ast.ClassDef)
        if isinstance(node, Assigned) and not is_field and (stored := _stored(node)):
            quiet.append((node, stored))
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                if name in _SEES_ALL:
                    return frozenset()
                needed.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                needed.update(names)
            case ast.Attribute(attr=name):
                needed.add(name)  # of this module, by its name
            case ast.Constant(value=str(name)):
                needed.add(name)  # of `__all__`, or of a call by name
        pending += ast.iter_child_nodes(node)
    return frozenset(
        inner for node in _left(quiet, needed) if node.value for inner in ast.walk(node.value)
    )


def _stored(node: Assigned) -> frozenset[str]:
    """The names an assignment gives values to, if that is all it does."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not all(isinstance(target, ast.Name) for target in targets):
        return frozenset()
    if any(isinstance(inner, _ACTS) for inner in ast.walk(node)):
        return frozenset()
    return frozenset(target.id for target in targets if isinstance(target, ast.Name))


def _left(
    quiet: list[tuple[Assigned, frozenset[str]]], needed: set[str]
) -> Iterator[Assigned]:
    """The assignments that nothing needed reads, once those which are read have named theirs."""
    storing: dict[str, list[Assigned]] = {}
    for node, names in quiet:
        for name in names:
            storing.setdefault(name, []).append(node)
    used: set[Assigned] = set()
    asked = [*needed]
    while asked:
        for node in storing.get(asked.pop(), ()):
            if node not in used:
                used.add(node)
                asked += [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    return (node for node, _ in quiet if node not in used)
