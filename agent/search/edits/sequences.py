"""Edits of indices, slices, displays and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.program import NUMBERS, SEQUENCES, Program, Splice, variable_names


def index(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """Replaces an index, or the subscript by its index or sequence."""
    if isinstance(node.slice, ast.Slice):
        if isinstance(node.ctx, ast.Load):
            yield program.replace(node, program.code(node.value), 3.6)
        return
    place = node.slice

    def at(text: str, cost: float) -> Splice:
        return Splice(program.start(place), program.end(place), text, cost, node.lineno)

    for text in ("0", "-1", "1"):
        yield at(text, 3.0)
    for name in program.variables(node):
        types = program.observed_types(name)
        if not types or types & {"int", "str", "tuple"}:
            yield at(name, 3.2)
            if not types or "int" in types:
                yield at(f"{name} - 1", 4.4)
                yield at(f"{name} + 1", 4.4)
    own = program.code(place)
    if isinstance(node.ctx, ast.Load):
        yield program.replace(node, program.code(node.value), 4.0)
        if not isinstance(place, ast.Tuple):
            yield program.replace(node, own, 4.2)
            yield at(f"{own}:", 4.4)
            yield at(f":{own}", 4.4)
    if isinstance(node.value, ast.Subscript) and not isinstance(node.value.slice, ast.Slice):
        base, first = program.code(node.value.value), program.code(node.value.slice)
        yield program.replace(node, f"{base}[{own}][{first}]", 2.6)
        for a in (f"{first} - 1", f"{first} + 1"):
            for b in (f"{own} - 1", f"{own} + 1"):
                yield program.replace(node, f"{base}[{a}][{b}]", 4.4)
    if isinstance(place, ast.Tuple) and len(place.elts) == 2:
        a, b = (program.code(one) for one in place.elts)
        for text in (f"{b}, {a}", f"{a} - 1, {b}", f"{a}, {b} - 1", f"{a} - 1, {b} - 1",
                     f"{a} + 1, {b}", f"{a}, {b} + 1", f"{a} + 1, {b} + 1"):
            yield at(text, 2.8)


def bounds(program: Program, node: ast.Slice) -> Iterator[Splice]:
    """Changes the bounds or the step of a slice."""
    lower, upper, step = (
        program.code(one) if one is not None else "" for one in (node.lower, node.upper, node.step)
    )

    def part(low: str, high: str, every: str, cost: float) -> Splice:
        text = f"{low}:{high}" + (f":{every}" if every else "")
        return Splice(program.start(node), program.end(node), text, cost, node.lineno)

    names = [name for name in program.variables(node) if program.may_be(name, NUMBERS)]
    if lower:
        yield part("", upper, step, 3.0)
    else:
        for text in ("1", *names):
            yield part(text, upper, step, 3.5)
    if upper:
        yield part(lower, "", step, 3.0)
    else:
        for text in ("-1", *names):
            yield part(lower, text, step, 3.5)
        for name in names:
            yield part(lower, f"{name} + 1", step, 4.2)
    if step:
        yield part(lower, upper, "", 3.0)
    else:
        yield part(lower, upper, "-1", 4.0)
        yield part(lower, upper, "2", 4.0)
    if lower and upper:
        yield part(lower, f"{lower} + {upper}", step, 3.4)
        yield part(upper, lower, step, 3.5)
    elif lower:
        yield part("", lower, step, 3.2)
    elif upper:
        yield part(upper, "", step, 3.2)


def clamped(program: Program, node: ast.Slice) -> Iterator[Splice]:
    """Prevents a negative bound of a slice: `max(0, i - 1)`."""
    for bound, cost in ((node.lower, 1.7), (node.upper, 2.4)):
        if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Sub):
            yield program.replace(bound, f"max(0, {program.code(bound)})", cost)


def display(program: Program, node: ast.List | ast.Tuple) -> Iterator[Splice]:
    """Swaps, drops or adds elements of a list or tuple."""
    parent = program.parents.get(node)
    if not node.elts or (isinstance(parent, ast.For | ast.comprehension) and parent.target is node):
        return
    parts = [program.code(one) for one in node.elts]
    text = program.code(node)
    is_list = isinstance(node, ast.List)
    bare = not is_list and not text.startswith("(")
    opening, closing = ("[", "]") if is_list else ("", "") if bare else ("(", ")")

    def shown(elements: list[str], cost: float) -> Splice:
        comma = "," if not is_list and len(elements) == 1 else ""
        new = opening + ", ".join(elements) + comma + closing
        return Splice(program.start(node), program.end(node), new, cost, node.lineno)

    if len(parts) <= 8:
        for i in range(len(parts)):
            if len(parts) > 1 or not bare:
                yield shown(parts[:i] + parts[i + 1 :], 4.0)
        for i in range(1, len(parts) - 1):
            yield shown(parts[:i], 4.6)
    if len(parts) <= 5:
        for i in range(len(parts)):
            for j in range(i + 1, len(parts)):
                swapped = list(parts)
                swapped[i], swapped[j] = swapped[j], swapped[i]
                yield shown(swapped, 3.0)
    if is_list and isinstance(node.ctx, ast.Load):
        for extra in ("0", "1", "[]", "''", *program.variables(node)[:6]):
            yield shown([*parts, extra], 5.0)


def initial_value(program: Program, node: ast.List | ast.Dict) -> Iterator[Splice]:
    """Replaces an empty list or dictionary by another initial value."""
    if isinstance(node, ast.Dict):
        if not node.keys:
            for text in ("[]", "set()"):
                yield program.replace(node, text, 4.0)
        return
    if node.elts or not isinstance(node.ctx, ast.Load):
        return
    names = program.variables(node)
    for text in ("[0]", "[1]", "[[]]", "{}", "set()", "['']", "None",
                 *(f"[{name}]" for name in names), *names):
        yield program.replace(node, text, 3.5)


def filtered(program: Program, node: ast.comprehension) -> Iterator[Splice]:
    """Drops or adds the filter of a comprehension."""
    previous = program.end(node.iter)
    for condition in node.ifs:
        gap = program.between(previous, program.start(condition))
        if gap.strip() == "if":
            yield Splice(previous, program.end(condition), "", 3.5, condition.lineno)
        previous = program.end(condition)
    end = program.end(node.iter)
    if program.between(end, end + 1) == ")" and not isinstance(
        program.parents.get(node), ast.GeneratorExp
    ):
        return
    own = variable_names(node.target)
    for name in own:
        tests = [(name, 4.6), (f"not {name}", 4.6)]
        if program.may_be(name, NUMBERS):
            tests += [(f"{name} {test}", 5.2) for test in
                      ("> 0", "% 2 == 0", "% 2 == 1", "!= 0", ">= 0", "< 0")]
        if program.may_be(name, frozenset({"str"})):
            tests += [(f"{name}.{test}()", 5.2) for test in ("isalpha", "isdigit", "isalnum")]
        for other in program.variables(program.statement(node.iter)):
            if other not in own:
                tests += [(f"{name} {sign} {other}", 5.4) for sign in
                          ("!=", "not in", "in", "==", "<", ">")]
        for test, cost in tests:
            yield Splice(end, end, f" if {test}", cost, node.iter.lineno)


def aggregate(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """Replaces an element of a sequence by an aggregate of all: `sum`, `max` …"""
    if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Slice):
        return
    constant = isinstance(node.slice, ast.Constant | ast.UnaryOp)
    if not constant or not program.type_of(node.value) & SEQUENCES:
        return
    for name in ("sum", "max", "min", "len"):
        yield program.replace(node, f"{name}({program.code(node.value)})", 4.4)
