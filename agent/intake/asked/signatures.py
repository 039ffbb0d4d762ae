"""What an expression in a test means: a value, a name of the program, a call of its functions."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from agent.core.literals import literal_source
from agent.core.trees import literal
from agent.intake.parsing import (
    Definition,
    FunctionNode,
    imports,
    statements_of,
    toplevel,
    visible_names,
)


class Signatures:
    """What the program's functions, constructors and methods take, where that is certain."""

    def __init__(self, program: str) -> None:
        self.names = visible_names(program)
        self.methods: set[str] = set()
        self.attributes: set[str] = set()
        """Of objects of its classes, but for methods."""
        self._functions: dict[str, inspect.Signature] = {}
        self._methods: dict[str, inspect.Signature | None] = {}
        for node in toplevel(statements_of(program)):
            if isinstance(node, FunctionNode):
                self._functions.pop(node.name, None)
                if not node.decorator_list:
                    self._functions[node.name] = _signature(node.args, 0)
            elif isinstance(node, ast.ClassDef):
                self._read_class(node)

    def _read_class(self, node: ast.ClassDef) -> None:
        for inner in ast.walk(node):
            match inner:
                case ast.Attribute(attr=name, ctx=ast.Store()) | ast.AnnAssign(
                    target=ast.Name(id=name)
                ):
                    self.attributes.add(name)
        for one in node.body:
            if not isinstance(one, FunctionNode):
                continue
            if one.decorator_list:
                self.attributes.add(one.name)
            self.methods.add(one.name)
            found = None if one.decorator_list else _signature(one.args, 1)
            if one.name == "__init__" and found is not None and not node.decorator_list:
                self._functions[node.name] = found
            # A method of two classes may be either's.
            self._methods[one.name] = None if one.name in self._methods else found

    def bound(
        self, name: str, args: Sequence[str], keywords: Mapping[str, str], *,
        method: bool = False, defaults: bool = True,
    ) -> str:
        """The arguments by the parameters they go to; as given, where they fit no signature."""
        known = (self._methods if method else self._functions).get(name)
        if known is not None:
            try:
                fit = known.bind(*args, **keywords)
            except TypeError:
                pass
            else:
                if defaults:
                    fit.apply_defaults()
                given: dict[str, str] = {}
                for key, value in fit.arguments.items():
                    many = isinstance(value, dict)
                    given |= value if many else {key: value if isinstance(value, str) else
                                                 f"*({', '.join(value)})"}
                return f"{name}({', '.join(f'{key}={given[key]}' for key in sorted(given))})"
        named = [f"{key}={keywords[key]}" for key in sorted(keywords)]
        return f"{name}({', '.join([*args, *named])})"


def _signature(arguments: ast.arguments, left_out: int) -> inspect.Signature:
    """The parameters with their defaults as text, without the first ones."""
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    bare = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*[None] * bare, *arguments.defaults]
    made = [
        kinds(one.arg, kinds.POSITIONAL_ONLY if place < len(arguments.posonlyargs)
              else kinds.POSITIONAL_OR_KEYWORD, default=_default(default))
        for place, (one, default) in enumerate(zip(positional, defaults, strict=True))
    ][left_out:]
    if arguments.vararg:
        made.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    made += [
        kinds(one.arg, kinds.KEYWORD_ONLY, default=_default(default))
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        made.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(made)


def _default(node: ast.expr | None) -> object:
    if node is None:
        return inspect.Parameter.empty
    known = literal(node)
    return literal_source(known[0]) if known else ast.unparse(node)


@lru_cache(maxsize=8)
def signatures(program: str) -> Signatures:
    """The program's, read once."""
    return Signatures(program)


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
    for one in imports(*body):
        renamed = one.name or one.bound != one.module.partition(".")[0]
        if is_own(one.name or one.module) and (renamed or one.module in (stem, "solution")):
            own[one.bound] = ""
        elif one.name and is_own(one.module):
            own[one.bound] = one.name
        else:
            foreign.add(one.bound)
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
