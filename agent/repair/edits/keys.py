"""Edits of orders: what is compared when something is sorted or the greatest is sought."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.calls import given_arguments, named_arguments, replaced_call
from agent.repair.program import UNARY, Program, Splice

_ORDERED = frozenset({"sorted", "max", "min"})


def order(program: Program, node: ast.Call) -> Iterator[Splice]:
    """A key for an order that has none: values of a dictionary, letters without case."""
    is_sort = isinstance(node.func, ast.Attribute) and node.func.attr == "sort"
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if not is_sort and (name not in _ORDERED or len(node.args) != 1):
        return
    given, named = given_arguments(program, node), named_arguments(program, node)
    words = {one.arg for one in node.keywords}

    def call(extra: str, cost: float) -> Splice:
        return replaced_call(program, node, given, [*named, extra], cost)

    if "reverse" not in words and (is_sort or name == "sorted"):
        yield call("reverse=True", 3.2)
    if "key" in words:
        return
    sequence = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
    kinds = program.type_of(sequence)
    keys = ["key=str.lower", "key=sum", "key=lambda x: -x", "key=lambda x: x[0]",
            "key=lambda x: x[1]", "key=lambda x: x[-1]", "key=lambda x: (len(x), x)",
            "key=lambda x: (-len(x), x)", "key=lambda x: (-x[1], x[0])",
            "key=lambda x: (x[1], x[0])", "key=lambda x: -x[1]"]
    keys += [f"key=lambda x: x.{attribute}" for attribute in program.attributes[:6]]
    for key in keys:
        yield call(key, 4.2)
    for other in program.variables(node):
        if "dict" in program.seen(other) or "Counter" in program.seen(other):
            for key in (f"key={other}.get", f"key=lambda x: {other}[x]",
                        f"key=lambda x: (-{other}[x], x)"):
                yield call(key, 3.0 if other == program.code(sequence) else 3.6)
    if not kinds and isinstance(sequence, ast.Name):
        yield call(f"key={sequence.id}.get", 5.0)


def tie_break(program: Program, node: ast.keyword) -> Iterator[Splice]:
    """A key's order turned round, and a further one for what it does not tell apart."""
    if node.arg != "key":
        return
    match node.value:
        case ast.Lambda(args=ast.arguments(args=[one]), body=body):
            name = one.arg
        case ast.Name() | ast.Attribute():
            text = program.code(node.value)
            for key in (f"lambda x: ({text}(x), x)", f"lambda x: (-{text}(x), x)",
                        f"lambda x: -{text}(x)"):
                yield program.replace(node.value, key, 3.4)
            return
        case _:
            return
    value, negative = program.code(body), f"-{program.grouped(body, UNARY)}"
    rests = [name, f"{name}[0]", f"{name}[1]"]
    if isinstance(body, ast.Tuple):
        parts = [program.code(part) for part in body.elts]
        signs = [f"-{program.grouped(part, UNARY)}" for part in body.elts]
        for place, part in enumerate(body.elts):
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
                signs[place] = program.code(part.operand)
            turned = [*parts[:place], signs[place], *parts[place + 1 :]]
            yield program.replace(body, f"({', '.join(turned)})", 2.6)
        if len(parts) == 2:
            yield program.replace(body, f"({signs[0]}, {signs[1]})", 3.2)
        for rest in rests:
            yield program.replace(body, f"({', '.join([*parts, rest])})", 4.0)
        return
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub):
        negative = program.code(body.operand)
    yield program.replace(body, negative, 2.8)
    for place, rest in enumerate(rests):
        yield program.replace(body, f"({value}, {rest})", 3.4 + 0.3 * place)
        yield program.replace(body, f"({negative}, {rest})", 3.6 + 0.3 * place)
        yield program.replace(body, f"({value}, -{rest})", 4.2 + 0.3 * place)
        yield program.replace(body, f"({rest}, {value})", 4.4 + 0.3 * place)
    if isinstance(body, ast.Compare | ast.Call | ast.BinOp):
        yield program.replace(body, f"({value}, len({name}), {name})", 4.8)
