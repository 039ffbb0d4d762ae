"""Edits where an index or a key is not there."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from agent.repair.edits.blocks import is_elif
from agent.repair.edits.constants import quoted
from agent.repair.edits.crashes.around import is_settled, nodes_on, only_if, ways_out
from agent.repair.facts import Crash
from agent.repair.program import NOT, Program, Splice


def outside(program: Program, crash: Crash) -> Iterator[Splice]:
    """An index out of range: a bound one too far, a condition, or a way out before it."""
    yield from _bounds(program)
    for node in nodes_on(program, ast.Subscript, crash.line):
        if isinstance(node.slice, ast.Slice):
            continue
        base, place = program.code(node.value), program.grouped(node.slice, 6)
        if isinstance(node.ctx, ast.Load) and not is_settled(f"{place}, {base}"):
            value = program.grouped(node, 2)
            for neutral in ("None", "0", "''"):
                yield program.replace(
                    node, f"{value} if {place} < len({base}) else {neutral}", 3.2
                )
        yield from only_if(program, node, f"{place} < len({base})", 2.6)
        yield from only_if(program, node, base, 2.8)
        yield from ways_out(program, node, f"not {program.grouped(node.value, NOT)}", 2.2)
        yield from ways_out(program, node, f"{place} >= len({base})", 2.6)
    for call in nodes_on(program, ast.Call, crash.line):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("pop", "popleft"):
            base = program.code(call.func.value)
            yield from only_if(program, call, base, 1.6)
            yield from ways_out(program, call, f"not {base}", 2.0)


def _bounds(program: Program) -> Iterator[Splice]:
    """Loops that go one too far: `range(n + 1)`, `while i <= n`."""
    for node in ast.walk(program.tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[*_, stop])):
                if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
                    yield program.replace(stop, program.code(stop.left), 0.4)
                elif not isinstance(stop, ast.UnaryOp):
                    yield program.replace(stop, f"{program.grouped(stop, 10)} - 1", 1.6)
            case ast.While(test=ast.Compare(ops=[ast.LtE()]) as test):
                between = program.between(program.end(test.left), program.start(
                    test.comparators[0]))
                at = program.end(test.left) + between.encode().find(b"<=")
                yield Splice(at, at + 2, "<", 0.4, test.lineno)


def missing_key(program: Program, crash: Crash) -> Iterator[Splice]:
    """A key that is not there: `get`, an initial value, or a way out."""
    for node in nodes_on(program, ast.Subscript, crash.line):
        if isinstance(node.slice, ast.Slice):
            continue
        base, key = program.code(node.value), program.code(node.slice)
        statement = program.statement(node)
        if isinstance(statement, ast.AugAssign) and statement.target is node:
            sign = program.between(program.end(node), program.start(statement.value))
            sign = sign.strip().removesuffix("=")
            value = program.grouped(statement.value, 11)
            for neutral in ("0", "[]", "''", "1"):
                text = f"{base}[{key}] = {base}.get({key}, {neutral}) {sign} {value}"
                yield program.replace_statement(statement, text, 0.4)
        if isinstance(node.ctx, ast.Load):
            for rank, neutral in enumerate(("0", "None", "[]", "''", "{}", "False", "1")):
                yield program.replace(node, f"{base}.get({key}, {neutral})", 0.8 + 0.05 * rank)
            yield program.replace(node, f"{base}.get({key})", 0.82)
            parent = program.parents.get(node)
            if isinstance(parent, ast.Attribute):
                for neutral in ("[]", "set()", "{}"):
                    yield program.replace(node, f"{base}.setdefault({key}, {neutral})", 0.7)
            missing = crash.message.strip("'\"")
            # The key may be written where the dictionary is made, outside this function.
            keys = {
                one.value for one in nodes_on(program, ast.Constant, None)
                if isinstance(one.value, str) and one.value != missing
            }
            for other in difflib.get_close_matches(missing, sorted(keys), 3, 0.6):
                if isinstance(node.slice, ast.Constant):
                    yield program.replace(node.slice, quoted(other, key), 0.3)
        if program.alone(statement) and not is_elif(program, statement):
            for neutral in ("0", "[]", "set()", "''", "{}"):
                lines = [f"if {key} not in {base}:", f"{program.step}{base}[{key}] = {neutral}"]
                yield program.insert_before(statement, lines, 1.4)
        yield from ways_out(program, node, f"{key} not in {base}", 2.2)
        yield from only_if(program, node, f"{key} in {base}", 1.8)
