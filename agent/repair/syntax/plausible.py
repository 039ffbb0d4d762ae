"""How odd a text reads that compiles: what nobody writes on purpose costs extra."""

from __future__ import annotations

import ast
import builtins
import itertools
import warnings
from collections.abc import Iterator

from agent.repair.syntax.tokens import CLOSERS, OPENERS, tokens
from agent.trees import parse

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__"}
_ARITY: dict[str, tuple[int, int]] = {
    "len": (1, 1), "ord": (1, 1), "chr": (1, 1), "abs": (1, 1), "isinstance": (2, 2),
    "issubclass": (2, 2), "range": (1, 3), "int": (0, 2), "float": (0, 1), "bool": (0, 1),
    "str": (0, 3), "repr": (1, 1), "list": (0, 1), "tuple": (0, 1), "set": (0, 1),
    "sorted": (1, 1), "reversed": (1, 1), "sum": (1, 2), "any": (1, 1), "all": (1, 1),
    "enumerate": (1, 2), "input": (0, 1), "hash": (1, 1), "id": (1, 1), "round": (1, 2),
    "callable": (1, 1), "divmod": (2, 2), "hasattr": (2, 2), "getattr": (2, 3), "setattr": (3, 3),
    "type": (1, 3), "iter": (1, 2), "next": (1, 2), "map": (2, 9), "filter": (2, 2), "pow": (2, 3),
    "frozenset": (0, 1), "bin": (1, 1), "hex": (1, 1), "vars": (0, 1), "open": (1, 8),
}
_METHODS: dict[str, tuple[int, int]] = {
    "append": (1, 1), "extend": (1, 1), "insert": (2, 2), "pop": (0, 2), "join": (1, 1),
    "startswith": (1, 3), "endswith": (1, 3), "split": (0, 2), "strip": (0, 1), "lower": (0, 0),
    "upper": (0, 0), "items": (0, 0), "keys": (0, 0), "values": (0, 0), "isdigit": (0, 0),
    "isalpha": (0, 0), "isalnum": (0, 0), "isspace": (0, 0), "isupper": (0, 0), "replace": (2, 3),
    "setdefault": (1, 2), "copy": (0, 0), "ljust": (1, 2), "rjust": (1, 2), "readline": (0, 1),
}
_HELD = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Constant, ast.JoinedStr, ast.BinOp,
         ast.Compare, ast.BoolOp, ast.ListComp)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def oddness(text: str, names: frozenset[str]) -> float:
    """The sum over everything odd in a text that compiles; `names` stood in the text before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse(text)
    arities = _own_arities(tree)
    total = sum(_odd_node(node, arities) for node in ast.walk(tree))
    total += sum(_odd_block(block, owner) for owner, block in _blocks(tree))
    total += _odd_methods(tree) + _odd_signs(text)
    bound = {name for node in ast.walk(tree) for name in _bound_by(node)}
    for name in _unknown(tree):
        # A name that nothing binds came without its import; one bound elsewhere is out of reach.
        total += 0.2 if name in names and name not in bound else 1.1
    return total


def does_something(text: str) -> bool:
    """Whether a text that compiles is more than comments and loose constants: prose is not
    mended by taking it away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = parse(text).body
    return any(
        not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Name))
        and not isinstance(node, ast.Pass)
        for node in body
    )


def _own_arities(tree: ast.Module) -> dict[str, tuple[int, int]]:
    """How many arguments the functions of this text take."""
    found: dict[str, tuple[int, int]] = {}
    for node in tree.body:
        if isinstance(node, _Function) and not node.args.vararg and not node.args.kwarg:
            most = len(node.args.args) + len(node.args.posonlyargs)
            found[node.name] = (most - len(node.args.defaults), most)
    return found


def _odd_node(node: ast.AST, arities: dict[str, tuple[int, int]]) -> float:
    match node:
        case ast.Expr(value=value):
            return _odd_statement(value)
        case ast.AnnAssign(annotation=kind, value=value):
            plain = isinstance(kind, ast.Name | ast.Attribute | ast.Subscript | ast.Constant)
            return (1.0 if value is None else 0.3) + (0.0 if plain else 1.0)
        case ast.Call():
            return _odd_call(node, arities)
        case ast.Subscript(value=value, slice=key):
            odd = 3.0 if isinstance(value, ast.Constant) and not isinstance(
                value.value, str) else 0.0
            odd += 0.8 if isinstance(value, ast.List | ast.Tuple | ast.ListComp) else 0.0
            odd += 0.5 if isinstance(key, ast.Tuple) else 0.0
            return odd + (1.0 if isinstance(key, ast.List | ast.Compare | ast.Dict) else 0.0)
        case ast.Attribute(value=ast.Constant(value=int() | float() | None)):
            return 2.0
        case ast.Attribute(value=ast.BinOp() | ast.Compare() | ast.BoolOp()):
            return 0.4
        case ast.BinOp(left=left, right=right):
            odd = 0.8 if isinstance(right, ast.UnaryOp) and not isinstance(right.op, ast.Not) \
                and isinstance(right.op, ast.UAdd | ast.Invert) else 0.0
            odd += 0.5 if isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub) else 0.0
            odd += sum(1.0 for side in (left, right)
                       if isinstance(side, ast.Compare | ast.Lambda | ast.Set))
            kinds = {type(side.value) for side in (left, right) if isinstance(side, ast.Constant)}
            return odd + (1.0 if len(kinds) == 2 and str in kinds else 0.0)
        case ast.UnaryOp(op=ast.UAdd()):
            return 1.2
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=ast.UnaryOp()):
            return 1.0
        case ast.Compare(left=left, ops=ops, comparators=rest):
            return _odd_comparison(left, ops, rest)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            odd = 1.5 if isinstance(test, ast.Tuple | ast.Lambda | ast.JoinedStr) else 0.0
            constant = isinstance(test, ast.Constant) and not isinstance(node, ast.While)
            return odd + (1.0 if constant else 0.0) + (
                0.9 if isinstance(test, ast.NamedExpr) else 0.0)
        case ast.NamedExpr():
            return 0.4
        case ast.For(iter=over) | ast.comprehension(iter=over):
            counted = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and (
                over.func.id in ("len", "int", "sum", "abs", "bool"))
            odd = 1.2 if counted or isinstance(over, ast.Compare | ast.BoolOp) else 0.0
            return odd + (1.5 if isinstance(over, ast.Constant) and not isinstance(
                over.value, str) else 0.0)
        case ast.Assign(targets=targets, value=value):
            odd = 0.8 * sum(isinstance(one, ast.Tuple) and len(one.elts) == 1 for one in targets)
            odd += 0.4 * (len(targets) - 1)
            odd += 0.3 if isinstance(value, ast.Compare) else 0.0
            return odd + (0.6 if isinstance(value, ast.Tuple) and len(value.elts) == 1 else 0.0)
        case ast.Return(value=ast.Tuple(elts=[_])) | ast.Set(elts=[_]):
            return 0.6
        case ast.Lambda(args=ast.arguments(args=[], vararg=None), body=_):
            return 0.1
        case ast.Starred() | ast.Slice(step=ast.Constant(value=str())):
            return 0.4
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return 0.3 * sum(name.asname is not None for name in names)
        case ast.IfExp(orelse=ast.Constant(value=None)):
            return 0.2
    return 0.0


def _odd_statement(value: ast.expr) -> float:
    match value:
        case ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom():
            return 0.0
        case ast.Constant(value=str()):
            return 0.15
        case ast.Constant(value=kind):
            return 0.0 if kind is ... else 1.6
        case ast.ListComp():
            return 0.8
    return 1.6


def _odd_call(node: ast.Call, arities: dict[str, tuple[int, int]]) -> float:
    function, count = node.func, len(node.args)
    odd = 0.0
    if isinstance(function, _HELD):
        odd += 2.5
    starred = any(isinstance(one, ast.Starred) for one in node.args) or node.keywords
    bounds: tuple[int, int] | None = None
    if isinstance(function, ast.Name):
        bounds = arities.get(function.id) or _ARITY.get(function.id)
        if function.id in ("min", "max") and count == 1 and isinstance(
                node.args[0], ast.BinOp | ast.Constant | ast.Call | ast.Subscript) and not starred:
            odd += 0.5
        if function.id in ("len", "sum", "list", "sorted", "enumerate") and node.args and (
                isinstance(node.args[0], ast.Compare | ast.Constant)
                or (function.id == "len" and isinstance(node.args[0], ast.BinOp))):
            odd += 0.8
    elif isinstance(function, ast.Attribute):
        bounds = _METHODS.get(function.attr)
    elif isinstance(function, ast.Call | ast.Subscript):
        odd += 0.4
    if bounds is not None and not starred and not bounds[0] <= count <= bounds[1]:
        odd += 1.5
    odd += sum(0.6 for one in node.args if isinstance(one, ast.Compare) and isinstance(
        function, ast.Attribute))
    return odd


def _odd_comparison(left: ast.expr, ops: list[ast.cmpop], rest: list[ast.expr]) -> float:
    odd = 0.0
    if len(ops) > 1:
        ordered = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in ops)
        odd += 0.1 if ordered else 0.8
    for side in (left, *rest):
        odd += 0.8 if isinstance(side, ast.Lambda | ast.Compare | ast.IfExp) else 0.0
    odd += 0.5 if isinstance(left, ast.Constant) else 0.0
    for op, side in zip(ops, rest, strict=True):
        if isinstance(op, ast.In | ast.NotIn) and isinstance(side, ast.Constant) and not isinstance(
                side.value, str | bytes):
            odd += 1.5
        if isinstance(op, ast.Is | ast.IsNot) and isinstance(side, ast.Constant) and isinstance(
                side.value, str | int) and not isinstance(side.value, bool):
            odd += 0.6
    return odd


def _blocks(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield node, block


def _odd_block(block: list[ast.stmt], owner: ast.AST) -> float:
    odd = 0.0
    for node in block[:-1]:
        if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            odd += 1.2
    if isinstance(owner, _Function) and len(block) == 1 and isinstance(block[0], ast.Expr) and (
            isinstance(block[0].value, ast.Constant)) and isinstance(block[0].value.value, str):
        odd += 0.6
    for node in block:
        if isinstance(node, ast.Pass) and len(block) > 1:
            odd += 0.5
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            odd += _odd_loop(node)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            after = block[block.index(node) + 1 :]
            used = {
                one.id for rest in after for one in ast.walk(rest) if isinstance(one, ast.Name)}
            inside = any(
                isinstance(one, ast.Name) and one.id == node.target.id
                for part in node.body for one in ast.walk(part))
            odd += 0.4 if node.target.id in used else 0.0
            odd += 0.3 if not inside and node.target.id != "_" else 0.0
    if isinstance(owner, ast.Module):
        odd += sum(0.3 for node in block if isinstance(node, ast.For | ast.While | ast.AugAssign))
        if any(isinstance(node, _Function | ast.ClassDef) for node in block):
            odd += sum(0.25 for node in block if isinstance(node, ast.If) and not (
                isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Name)
                and node.test.left.id == "__name__"))
    return odd


def _odd_loop(loop: ast.For | ast.While | ast.AsyncFor) -> float:
    odd = 0.0
    leaves = any(
        isinstance(node, ast.Break | ast.Return | ast.Raise) for part in loop.body
        for node in ast.walk(part))
    if loop.orelse and not leaves:
        odd += 0.9
    if isinstance(loop.body[-1], ast.Return | ast.Break | ast.Continue):
        odd += 0.5
    return odd


def _odd_methods(tree: ast.Module) -> float:
    odd = 0.0
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, _Function):
                    names = [one.arg for one in (*method.args.posonlyargs, *method.args.args)]
                    decorated = bool(method.decorator_list)
                    if not decorated and names[:1] not in (["self"], ["cls"]) and (
                            not method.args.vararg):
                        odd += 0.8
        elif isinstance(node, ast.Module | _Function):
            for function in node.body:
                if isinstance(function, _Function) and function.args.args[:1] and (
                        function.args.args[0].arg == "self"):
                    odd += 0.9
    return odd


def _unknown(tree: ast.Module) -> set[str]:
    """Names that are read where nothing gives them a value."""
    unknown: set[str] = set()

    def visit(scope: ast.AST, known: frozenset[str]) -> None:
        names = _bound(scope)
        # What a class binds is seen by its own statements and not by its methods.
        inner = known if isinstance(scope, ast.ClassDef) else known | names
        here = known | names
        for node, is_scope in _contents(scope):
            if is_scope:
                visit(node, inner)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (
                    node.id not in here and node.id not in _BUILTINS):
                unknown.add(node.id)

    visit(tree, frozenset())
    return unknown


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp,
           ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _contents(scope: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a scope, and the scopes inside it, which are not entered."""
    pending = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        if isinstance(node, _SCOPES):
            yield node, True
        else:
            yield node, False
            pending.extend(ast.iter_child_nodes(node))


def _bound(scope: ast.AST) -> frozenset[str]:
    names: set[str] = set()
    for node, _ in _contents(scope):
        names.update(_bound_by(node))
    return frozenset(names)


def _bound_by(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.arg(arg=name) | ast.alias(name=name, asname=None):
            return (name.split(".")[0],)
        case ast.alias(asname=str() as name) | ast.ExceptHandler(name=str() as name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Global(names=several) | ast.Nonlocal(names=several):
            return tuple(several)
    return ()


def _odd_signs(text: str) -> float:
    """Two strings side by side, a comma that ends a statement, a semicolon, a dot on a number."""
    odd, depth = 0.0, 0
    some = tokens(text)
    for token, following in itertools.pairwise(some):
        if token.kind == "string" and following.kind == "string":
            odd += 1.3 if token.end == following.start else 0.5
        if token.kind == "number" and following.text == ".":
            odd += 1.0
        if token.kind != "sign":
            continue
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        ends = token.text == "," and following.kind == "newline" and depth == 0
        if token.text == ";" or ends:
            odd += 0.7
        if token.text == "(" and following.text == ",":
            odd += 1.0
    return odd
