"""Edits where a value of the right type cannot be taken: a zero, a word, nothing at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.crashes.around import is_settled, nodes_on, only_if, ways_out
from agent.repair.facts import Crash
from agent.repair.program import ATOM, NOT, Program, Splice


def zero_division(program: Program, crash: Crash) -> Iterator[Splice]:
    """A division by zero: an answer for the empty case."""
    for node in nodes_on(program, ast.BinOp, crash.line):
        if not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            continue
        divisor, whole = program.code(node.right), program.code(node)
        for neutral in ("0", "0.0", "None", "1"):
            if not is_settled(divisor):
                yield program.replace(node, f"{whole} if {divisor} else {neutral}", 1.2)
        yield from ways_out(program, node, f"not {program.grouped(node.right, NOT)}", 1.4)
        yield from only_if(program, node, divisor, 2.0)


def bad_value(program: Program, crash: Crash) -> Iterator[Splice]:
    """A value that cannot be taken: cleaned, converted by another function, or skipped."""
    for node in nodes_on(program, ast.Call, crash.line):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        given = [program.code(one) for one in node.args]
        if name == "int" and len(given) == 1:
            yield program.replace(node, f"int(float({given[0]}))", 1.2)
            yield program.replace(node, f"float({given[0]})", 1.6)
        if name in ("int", "float") and len(given) == 1:
            base = program.grouped(node.args[0], ATOM)
            yield program.replace(node, f"{name}({base}.strip())", 1.6)
            yield program.replace(node, f"{name}({given[0]} or 0)", 1.4)
            yield from ways_out(program, node, f"not {given[0]}", 2.0)
            yield from ways_out(program, node, f"not {base}.isdigit()", 2.2)
        if name in ("max", "min") and len(given) == 1:
            for neutral in ("0", "None"):
                yield program.replace(node, f"{name}({given[0]}, default={neutral})", 0.8)
            yield from ways_out(program, node, f"not {given[0]}", 1.4)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("remove", "index") and given:
            base = program.code(node.func.value)
            yield from only_if(program, node, f"{given[0]} in {base}", 1.2)
            yield from ways_out(program, node, f"{given[0]} not in {base}", 1.8)
            if node.func.attr == "index":
                yield program.replace(node, f"{base}.find({given[0]})", 1.6)
