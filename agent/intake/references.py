"""What an expression in a test stands for: a value, or something of the program's."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from agent.intake.parsing import Definition, toplevel


def literal(node: ast.expr) -> tuple[object] | None:
    """A literal's value, alone in a tuple; `None` for what is none."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def imported(
    body: Sequence[ast.stmt], stem: str, names: Collection[str]
) -> tuple[dict[str, str], frozenset[str]]:
    """The names by which a test's code calls the program's own (its module is ""), and the names
    that come from elsewhere or are the test's own. `names` are the program's, which may have a
    function `solution`."""
    def is_own(module: str) -> bool:
        return module.rpartition(".")[2] in (stem, "solution")

    own = {name: "" for name in (stem, "solution") if name not in names}
    foreign = {node.name for node in toplevel(body) if isinstance(node, Definition)}
    for node in (one for statement in body for one in ast.walk(statement)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if alias.name in (stem, "solution") or (alias.asname and is_own(alias.name)):
                    own[name] = ""
                else:
                    foreign.add(name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                if is_own(alias.name):
                    own[name] = ""
                elif is_own(node.module or ""):
                    own[name] = alias.name
                else:
                    foreign.add(name)
    return own, frozenset(foreign)


def target(node: ast.expr, own: Mapping[str, str], names: Collection[str]) -> str:
    """The one of the program's `names` that an expression means; empty for none.

    `own` is what `imported` says of the test's code.
    """
    match node:
        case ast.Name(id=name) if own.get(name, name) in names:
            return own.get(name, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if own.get(module) == "":
            return name if name in names else ""
    return ""
