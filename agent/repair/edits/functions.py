"""Edits of a whole function: its last return, its defaults, names that mean something outside."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from agent.repair.edits.constants import NEUTRAL, together
from agent.repair.program import BUILTINS, Function, Program, Splice
from agent.repair.program.blocks import block_of, is_docstring, is_generator

_CHANGES = frozenset(
    "append extend insert remove pop clear sort reverse add discard update popitem setdefault "
    "appendleft popleft".split()
)


def missing_return(program: Program, node: Function) -> Iterator[Splice]:
    """A return at a function's end, and after each loop."""
    if is_generator(node) or not program.alone(node.body[-1]):
        return
    if node.body[-1].lineno == node.lineno:
        return
    cost = 2.0 if not any(isinstance(one, ast.Return) for one in ast.walk(node)) else 3.0
    last = node.body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return
    indent = program.indent(node.body[0])
    answers = [(name, cost) for name in program.variables(node.body[0])]
    answers += [(neutral, cost + 0.6) for neutral in (*NEUTRAL[1:], "-1")]
    for answer, dearer in answers:
        yield program.insert_after(last, [f"return {answer}"], dearer, indent)


def mutable_default(program: Program, node: Function) -> Iterator[Splice]:
    """A default that all calls share, made anew in each call."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(reversed(positional), reversed(node.args.defaults), strict=False))
    pairs += [
        (one, value)
        for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if value is not None
    ]
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno:
        return
    for argument, value in pairs:
        if isinstance(value, ast.List | ast.Dict | ast.Set) or (
            isinstance(value, ast.Call) and not value.args
        ):
            start = program.whole_lines(body[0])[0]
            indent = program.indent(body[0])
            lines = [
                f"{indent}if {argument.arg} is None:",
                f"{indent}{program.step}{argument.arg} = {program.code(value)}",
            ]
            text = (
                "None" + program.between(program.end(value), start)
                + "".join(line + program.newline for line in lines)
            )
            yield Splice(program.start(value), start, text, 2.0, node.lineno)


def outer_variable(program: Program, node: Function) -> Iterator[Splice]:
    """`global` or `nonlocal` for a name that is assigned here and outside."""
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno:
        return
    assigned = {
        one.id for one in ast.walk(node) if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Store)
    }
    outer = program.scope(node)
    for name in sorted(assigned):
        if name in program.module_values:
            yield program.insert_before(body[0], [f"global {name}"], 3.0)
        if isinstance(outer, Function) and name in program.variables(outer.body[0]):
            yield program.insert_before(body[0], [f"nonlocal {name}"], 2.6)


def late_binding(program: Program, node: ast.Lambda | ast.FunctionDef) -> Iterator[Splice]:
    """A function made in a loop that keeps the loop's value of the time it was made."""
    looped = _looped(program, node)
    if not looped:
        return
    own = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    bodies: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    read = {
        one.id for body in bodies for one in ast.walk(body) if isinstance(one, ast.Name)
    } - own
    names = [name for name in looped if name in read]
    if not names or node.args.kwarg or node.args.vararg:
        return
    for wanted in dict.fromkeys([*((name,) for name in names), tuple(names)]):
        given = ", ".join(f"{name}={name}" for name in wanted)
        listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if listed:
            last = max(
                [*(program.end(one) for one in node.args.defaults),
                 *(program.end(one) for one in node.args.kw_defaults if one is not None),
                 *(program.end(one) for one in listed)]
            )
            yield Splice(last, last, f", {given}", 2.2, node.lineno)
        elif isinstance(node, ast.Lambda):
            at = program.start(node) + len("lambda")
            yield Splice(at, at, f" {given}", 2.2, node.lineno)
        else:
            at = program.data.find(b"(", program.start(node)) + 1
            yield Splice(at, at, given, 2.2, node.lineno)


def _looped(program: Program, node: ast.AST) -> list[str]:
    """Variables of the loops around a node, up to its function."""
    names: list[str] = []
    at = program.parents.get(node)
    while at is not None and not isinstance(at, Function):
        targets: list[ast.expr] = []
        if isinstance(at, ast.For):
            targets = [at.target]
        elif isinstance(at, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            targets = [one.target for one in at.generators]
        names += [
            one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
        ]
        at = program.parents.get(at)
    return list(dict.fromkeys(names))


def copied(program: Program, node: ast.Assign | ast.For | ast.Return) -> Iterator[Splice]:
    """A copy of what is changed later, or while it is iterated over."""
    value = node.iter if isinstance(node, ast.For) else node.value
    if value is None:
        return
    base = value
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and not base.args:
        base = base.func.value
    if not isinstance(base, ast.Name | ast.Attribute | ast.Subscript):
        return
    kinds = program.type_of(base)
    if kinds and not kinds & {"list", "dict", "set", "deque", "Counter", "defaultdict"}:
        return
    text = program.code(value)
    if isinstance(node, ast.For):
        changed = _changes(node.body, program.code(base))
        cost = 2.0 if changed else 4.8
        if base is not value:
            yield program.replace(value, f"list({text})", cost)
            return
    else:
        cost = 4.2 if kinds else 5.0
        if base is not value:
            return
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            rest = block_of(program, node)
            rest = rest[rest.index(node) + 1 :]
            cost = 2.6 if _changes(rest, node.targets[0].id) else cost
    if not kinds or "list" in kinds:
        yield program.replace(value, f"{text}[:]", cost)
        yield program.replace(value, f"list({text})", cost + 0.1)
    elif isinstance(node, ast.For):
        yield program.replace(value, f"list({text})", cost)
    if not isinstance(node, ast.For):
        yield program.replace(value, f"{text}.copy()", cost + 0.2)
        for kind in ("dict", "set"):
            if kind in kinds:
                yield program.replace(value, f"{kind}({text})", cost + 0.1)


def _changes(body: Iterable[ast.AST], name: str) -> bool:
    """Whether statements change the value that a name or attribute stands for."""
    for one in (inner for statement in body for inner in ast.walk(statement)):
        match one:
            case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _CHANGES:
                if ast.unparse(base) == name:
                    return True
            case ast.Subscript(value=base, ctx=ast.Store() | ast.Del()):
                if ast.unparse(base) == name:
                    return True
            case ast.AugAssign(target=target):
                if ast.unparse(target) == name:
                    return True
    return False


def shadowed(program: Program, node: Function) -> Iterator[Splice]:
    """A variable that hides a function of its name, and a loop that reuses another's variable."""
    places: dict[str, list[ast.Name]] = {}
    called: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner not in program.hidden:
            parent = program.parents.get(inner)
            if isinstance(parent, ast.Call) and parent.func is inner:
                called.add(inner.id)
            else:
                places.setdefault(inner.id, []).append(inner)
    known = {*BUILTINS, *program.functions, *program.imported}
    for name, found in places.items():
        stored = any(isinstance(one.ctx, ast.Store) for one in found)
        if stored and name in called and name in known:
            edits = [(program.start(one), program.end(one), f"{name}_") for one in found]
            yield together(program, edits, 1.6, found[0].lineno)
    for outer in ast.walk(node):
        if isinstance(outer, ast.For) and isinstance(outer.target, ast.Name):
            yield from _inner_loops(program, outer, outer.target.id)


def _inner_loops(program: Program, outer: ast.For, name: str) -> Iterator[Splice]:
    taken = {one.id for one in ast.walk(program.tree) if isinstance(one, ast.Name)}
    new = next((one for one in ("j", "k", "m", f"{name}2") if one not in taken), "")
    inner_loops = (
        one for statement in outer.body for one in ast.walk(statement)
        if isinstance(one, ast.For) and isinstance(one.target, ast.Name)
        and one.target.id == name
    )
    for loop in inner_loops:
        if not new:
            return
        reads = [
            one for statement in loop.body for one in ast.walk(statement)
            if isinstance(one, ast.Name) and one.id == name
        ]
        seconds = [
            one for one in reads
            if isinstance(above := program.parents.get(one), ast.Subscript)
            and isinstance(above.value, ast.Subscript)
        ]
        for chosen in (reads, seconds):
            edits = [
                (program.start(one), program.end(one), new) for one in (loop.target, *chosen)
            ]
            yield together(program, edits, 2.6, loop.lineno)
