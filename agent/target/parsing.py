"""Helpers to read Python without running it: parsing, names, source segments, checks."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

from agent.core.trees import MAX_TREE_DEPTH, is_literal, tree_depth, tree_of

NAME_LENGTH = 60
TOO_DEEP = "the code is nested too deeply to be read"
BUILTIN_NAMES = frozenset(dir(builtins))
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Scope = FunctionNode | ast.Lambda | ast.ClassDef


def parsed(text: str) -> ast.Module:
    """The shared syntax tree, which must not be changed; any error is a `SyntaxError`."""
    try:
        tree = tree_of(text)
        if tree_depth(text) > MAX_TREE_DEPTH:
            raise SyntaxError(TOO_DEEP)
        return tree
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP) from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise SyntaxError("a lone surrogate is not a valid character",
                          (None, line, None, None)) from None
    except ValueError as error:
        raise SyntaxError(str(error)) from None


def where(error: SyntaxError) -> str:
    """The error as `line 3: '(' was never closed`, or its message if there is no line."""
    return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)


def _segment(text: str, node: ast.AST) -> str | None:
    """As `ast.get_source_segment`, but without splitting the text at every call."""
    if not isinstance(node, (ast.expr, ast.stmt)) or node.end_lineno is None:
        return None
    lines = _encoded_lines(text)[node.lineno - 1 : node.end_lineno]
    if len(lines) <= node.end_lineno - node.lineno:
        return None
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    return b"\n".join(lines).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=8)
def _encoded_lines(text: str) -> list[bytes]:
    return [line.encode("utf-8", "surrogatepass") for line in text.split("\n")]


def source_of(text: str, node: ast.AST) -> str:
    """The source of a node; a multi-line expression is put on one line."""
    found = _segment(text, node)
    if found is None or (isinstance(node, ast.expr) and "\n" in found):
        return ast.unparse(node)
    return found


def statement_source(text: str, node: ast.stmt) -> str:
    """A statement's source with decorators, moved to column 0."""
    found = _segment(text, node)
    # Dedenting a block may change text inside triple quotes; unparsing does not.
    if found is None or (node.col_offset and "\n" in found):
        return ast.unparse(node)
    first = lines_of(node).start
    if first == node.lineno:
        return found
    decorators = text.split("\n")[first - 1 : node.lineno - 1]
    return "\n".join([*decorators, found])


def lines_of(node: ast.stmt) -> range:
    """The lines of a statement, including decorators."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or node.lineno) + 1)


def shortened(text: str, length: int = NAME_LENGTH) -> str:
    """The text on one line, at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def unique(name: str, taken: dict[str, int]) -> str:
    """`name`, or `name (2)` and so on if it is taken; it is added to `taken`.

    `taken` maps each name to the last number that was appended to it.
    """
    candidate, number = name, taken.get(name, 1)
    while candidate in taken:
        number += 1
        candidate = f"{name} ({number})"
    taken |= {name: number, candidate: 1 if candidate != name else number}
    return candidate


@dataclass(frozen=True)
class NameUsage:
    """The names that statements or expressions read and bind in their own scope."""

    reads: frozenset[str]
    binds: frozenset[str]


def name_usage(*nodes: ast.AST) -> NameUsage:
    """The free names that these nodes read, and the names that they bind in their own scope.

    A name read inside a function counts as read unless the function binds it.
    """
    reads: set[str] = set()
    binds: set[str] = set()
    for node in nodes:
        _collect(node, reads, binds)
    return NameUsage(frozenset(reads), frozenset(binds))


def _collect(node: ast.AST, reads: set[str], binds: set[str]) -> None:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            reads.add(name)
        case ast.Name(id=name):
            binds.add(name)
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            reads.add(name)
            binds.add(name)
            _collect(value, reads, binds)
        case ast.alias(name=name, asname=asname):
            binds.add(asname or name.partition(".")[0])
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(
            name=str(name)
        ):
            binds.add(name)
            _children(node, reads, binds)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
            _collect_scope(node, reads, binds)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            inner_reads: set[str] = set()
            inner_binds: set[str] = set()
            _children(node, inner_reads, inner_binds)
            reads |= inner_reads - inner_binds
            binds |= {
                walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr)
            }
        case _:
            _children(node, reads, binds)


def _children(node: ast.AST, reads: set[str], binds: set[str]) -> None:
    for child in ast.iter_child_nodes(node):
        _collect(child, reads, binds)


def _collect_scope(node: Scope, reads: set[str], binds: set[str]) -> None:
    """Collects from a function or class, whose body has its own names, unlike its head."""
    inner_reads: set[str] = set()
    inner_binds: set[str] = set()
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for part in body:
        _collect(part, inner_reads, inner_binds)
    if not isinstance(node, ast.Lambda):
        binds.add(node.name)
    # The head: decorators, bases, defaults, annotations.
    for head in ast.iter_child_nodes(node):
        if head is not node.body and not isinstance(head, ast.stmt):
            _collect(head, reads, binds)
    if not isinstance(node, ast.ClassDef):
        inner_binds |= {one.arg for one in arguments_of(node)}
    shared = {
        name
        for part in body for inner in walk_scope(part) if isinstance(inner, ast.Global)
        for name in inner.names
    }
    reads |= (inner_reads - inner_binds) | shared


def arguments_of(node: FunctionNode | ast.Lambda) -> list[ast.arg]:
    return [one for one in ast.iter_child_nodes(node.args) if isinstance(one, ast.arg)]


@dataclass(frozen=True)
class ImportedName:
    module: str
    """The dotted name as written, without the leading dots of a relative import."""
    name: str
    """The name imported from the module; empty for the module itself."""
    bound: str
    level: int = 0

    @property
    def top(self) -> str:
        """The first part of the module; a relative import has none."""
        return "" if self.level else self.module.partition(".")[0]


def imports(*nodes: ast.AST) -> Iterator[ImportedName]:
    """All imports in these nodes, also inside functions and conditions."""
    for node in (inner for one in nodes for inner in ast.walk(one)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield ImportedName(alias.name, "", alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield ImportedName(
                    node.module or "", alias.name, alias.asname or alias.name, node.level
                )


def toplevel(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """The statements at module level, including those inside `if`, `try` and `with`."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(
            node, Definition
        ):
            yield from toplevel(ast.iter_child_nodes(node))


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Like `ast.walk`, but does not enter functions, classes and lambdas inside the node."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Definition | ast.Lambda):
            yield from walk_scope(child)


def is_import(node: ast.AST) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def is_future_import(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_main_guard(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and {"__name__", "'__main__'"}
        <= {ast.unparse(side) for side in [node.test.left, *node.test.comparators]}
    )


def called_name(node: ast.AST) -> str:
    """`f` for `f(1)`, `m.f` for `m.f(1)`, empty for any other callee."""
    return dotted(node.func) if isinstance(node, ast.Call) else ""


def is_plain_call(node: ast.AST | None) -> bool:
    """Whether a node is a call of a bare name with literal arguments."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and all(
        map(is_literal, node.args)
    ) and all(one.arg is not None and is_literal(one.value) for one in node.keywords)


def dotted(node: ast.AST) -> str:
    """`a.b.c` for such a chain of names, empty for any other node."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            head = dotted(value)
            return f"{head}.{attribute}" if head else ""
        case _:
            return ""


def root_name(node: ast.AST) -> str:
    """`a` for `a.b[0].c()`, empty for any other node."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Starred)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def checks(node: ast.AST, helpers: Iterable[str] = ()) -> bool:
    """Whether the node contains a check: assert, `raises`, `assertEqual`, `fail` and so on.

    `helpers` are names of functions with checks; `check_output` is a doctest checker's method.
    """
    return any(_is_check(inner, frozenset(helpers)) for inner in walk_scope(node))


_CHECKING = re.compile(r"assert[_A-Z]|assert$|fail$|fail[A-Z]|(raises|warns|deprecated_call)$")


def _is_check(node: ast.AST, helpers: frozenset[str]) -> bool:
    match node:
        case ast.Assert() | ast.Raise(
            exc=ast.Name("AssertionError") | ast.Call(func=ast.Name("AssertionError"))
        ):
            return True
        case ast.Call(func=ast.Name(id=last) | ast.Attribute(attr=last)):
            return last in helpers or last == "check_output" or bool(_CHECKING.match(last))
    return False


def checking_helpers(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names of functions that contain checks, directly or through each other."""
    functions = {
        node.name: node
        for outer in toplevel(body)
        for node in ([outer, *outer.body] if isinstance(outer, ast.ClassDef) else [outer])
        if isinstance(node, FunctionNode)
    }
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(
            name
            for name, node in functions.items()
            if any(checks(statement, found) for statement in node.body)
        )
        if more == found:
            return found
        found = more


@lru_cache(maxsize=16)
def toplevel_names(text: str) -> frozenset[str]:
    """Names that a program binds at its top level, as far as it parses."""
    return frozenset().union(
        *(name_usage(statement).binds for statement in statements_of(text))
    ) if text else frozenset()


def statements_of(text: str) -> list[ast.stmt]:
    """The top-level statements; if the text does not parse, those that do."""
    try:
        return parsed(text).body
    except SyntaxError:
        return list(_statements_of_broken(text))


_UNFINISHED = re.compile(r"never closed|unterminated triple|unexpected EOF|expected 'except'")


def _statements_of_broken(text: str) -> Iterator[ast.stmt]:
    lines = text.split("\n")
    starts = [
        number
        for number, line in enumerate(lines)
        if re.match(r"[A-Za-z_@]", line)
        and not re.match(r"(else|elif|except|finally)\b", line)
        and not (number and re.match(r"@", lines[number - 1]))
    ]
    index = 0
    while index < len(starts):
        for end in range(index + 1, min(len(starts), index + 40) + 1):
            last = starts[end] if end < len(starts) else len(lines)
            chunk = "\n".join(lines[starts[index] : last])
            try:
                body = parsed(chunk).body
            except SyntaxError as error:
                if _UNFINISHED.search(str(error.msg)):
                    continue
                index += 1
                break
            for statement in body:
                yield ast.increment_lineno(deepcopy(statement), starts[index])
            index = end
            break
        else:
            index += 1
