"""Edits for values of the wrong type, missing or invalid values, and endless loops."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from agent.search.edits.calls import replaced_call
from agent.search.edits.constants import quoted
from agent.search.edits.crashes.around import early_exits, is_constant, nodes_on, only_if
from agent.search.program import Precedence, Program, Splice, variable_names
from agent.search.program.blocks import is_elif
from agent.search.values import Crash

_OPERAND_PARENTS = (
    ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.AugAssign, ast.Return, ast.For, ast.Assign,
)
"""Nodes whose operands may have to be converted."""


def wrong_type(program: Program, crash: Crash) -> Iterator[Splice]:
    """Converts values, swaps calls and indices, adds arguments, and guards against `None`."""
    message = crash.message
    for node in nodes_on(program, ast.expr, crash.line):
        context = getattr(node, "ctx", None)
        if isinstance(node, ast.Slice | ast.Starred) or isinstance(context, ast.Store | ast.Del):
            continue
        parent = program.parents.get(node)
        if crash.line is None and not isinstance(parent, ast.Return):
            continue  # raised elsewhere, perhaps by a value that was returned here
        called = program.is_called(node)
        if not called and isinstance(parent, _OPERAND_PARENTS):
            yield from _converted(program, node, message)
        if "not callable" in message and isinstance(node, ast.Call):
            yield from _uncalled(program, node)
        is_function = isinstance(node, ast.Name) and node.id in program.functions
        if (is_function or isinstance(node, ast.Attribute)) and not called:
            yield program.replace(node, f"{program.code(node)}()", 1.2)
        if isinstance(node, ast.Subscript) and "not subscriptable" in message:
            inner = program.code(node.slice)
            yield program.replace(node, f"{program.code(node.value)}({inner})", 0.8)
        if isinstance(node, ast.Name | ast.Attribute) and "NoneType" in message:
            text = program.code(node)
            yield from early_exits(program, node, f"{text} is None", 2.6)
            yield program.replace(node, f"({text} or 0)", 2.2)
            yield program.replace(node, f"({text} or [])", 2.4)
    if "positional argument" in message or "required" in message:
        yield from _missing_arguments(program)


def _converted(program: Program, node: ast.expr, message: str) -> Iterator[Splice]:
    """Converts a value by a function, a method, an index or a range."""
    text, parent = program.code(node), program.parents.get(node)
    for cast in ("str", "int", "float", "list", "tuple", "len", "sum"):
        likely = f"not {cast}" in message or cast in ("str", "int")
        if cast == "str" and "concatenate str" in message:
            likely = not isinstance(node, ast.Constant)
        yield program.replace(node, f"{cast}({text})", 1.4 if likely else 2.0)
    base = program.parenthesized(node, Precedence.ATOM)
    for form in (".encode()", ".decode()", "[0]", ".items()", ".values()"):
        yield program.replace(node, base + form, 2.2)
    iterated = isinstance(parent, ast.For) and parent.iter is node
    yield program.replace(node, f"range({text})", 0.6 if iterated else 2.4)
    yield program.replace(node, f"range(len({text}))", 0.8 if iterated else 2.4)


def _uncalled(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Replaces a call by an index, by the called value, or by a product."""
    given = ", ".join(program.code(one) for one in node.args)
    function = program.code(node.func)
    yield program.replace(node, f"{function}[{given}]", 0.6)
    yield program.replace(node, function, 0.8)
    yield program.replace(node, f"{function} * ({given})", 1.2)


def _missing_arguments(program: Program) -> Iterator[Splice]:
    """Adds an argument to the calls on the line of the crash."""
    for call in nodes_on(program, ast.Call, None):
        if call.keywords or (program.crash and program.crash.line not in (None, call.lineno)):
            continue
        given = [program.code(one) for one in call.args]
        for i in range(len(given) + 1):
            for name in (*program.variables(call), "0", "1", "[]", "''", "None"):
                yield replaced_call(program, call, [*given[:i], name, *given[i:]], [], 2.4)


def index_out_of_range(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs an index out of range: by a lower bound, a condition or an early exit."""
    yield from _bounds(program)
    for node in nodes_on(program, ast.Subscript, crash.line):
        if isinstance(node.slice, ast.Slice):
            continue
        base, place = program.code(node.value), program.parenthesized(node.slice, Precedence.BIT_OR)
        if isinstance(node.ctx, ast.Load) and not is_constant(f"{place}, {base}"):
            value = program.parenthesized(node, Precedence.OR)
            for neutral in ("None", "0", "''"):
                text = f"{value} if {place} < len({base}) else {neutral}"
                yield program.replace(node, text, 3.2)
        yield from only_if(program, node, f"{place} < len({base})", 2.6)
        yield from only_if(program, node, base, 2.8)
        owner = program.parenthesized(node.value, Precedence.NOT)
        yield from early_exits(program, node, f"not {owner}", 2.2)
        yield from early_exits(program, node, f"{place} >= len({base})", 2.6)
    for call in nodes_on(program, ast.Call, crash.line):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("pop", "popleft"):
            base = program.code(call.func.value)
            yield from only_if(program, call, base, 1.6)
            yield from early_exits(program, call, f"not {base}", 2.0)


def _bounds(program: Program) -> Iterator[Splice]:
    """Ends loops one iteration earlier: `range(n + 1)`, `while i <= n`."""
    for node in ast.walk(program.tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[*_, stop])):
                if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
                    yield program.replace(stop, program.code(stop.left), 0.4)
                elif not isinstance(stop, ast.UnaryOp):
                    text = program.parenthesized(stop, Precedence.SUM)
                    yield program.replace(stop, f"{text} - 1", 1.6)
            case ast.While(test=ast.Compare(ops=[ast.LtE()]) as test):
                at = program.data.find(b"<=", program.end(test.left))
                yield Splice(at, at + 2, "<", 0.4, test.lineno)


def missing_key(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs a missing key: by `get`, an initial value, a similar key or an early exit."""
    for node in nodes_on(program, ast.Subscript, crash.line):
        if isinstance(node.slice, ast.Slice):
            continue
        base, key = program.code(node.value), program.code(node.slice)
        statement = program.statement(node)
        if isinstance(statement, ast.AugAssign) and statement.target is node:
            sign = program.between(program.end(node), program.start(statement.value))
            sign = sign.strip().removesuffix("=")
            value = program.parenthesized(statement.value, Precedence.PRODUCT)
            for neutral in ("0", "[]", "''", "1"):
                text = f"{base}[{key}] = {base}.get({key}, {neutral}) {sign} {value}"
                yield program.replace_statement(statement, text, 0.4)
        if isinstance(node.ctx, ast.Load):
            for rank, neutral in enumerate(("0", "None", "[]", "''", "{}", "False", "1")):
                yield program.replace(node, f"{base}.get({key}, {neutral})", 0.8 + 0.05 * rank)
            yield program.replace(node, f"{base}.get({key})", 0.82)
            if isinstance(program.parents.get(node), ast.Attribute):
                for neutral in ("[]", "set()", "{}"):
                    yield program.replace(node, f"{base}.setdefault({key}, {neutral})", 0.7)
            missing = crash.message.strip("'\"")
            # The dictionary, and so the right key, may be outside of this function.
            keys = {
                one.value for one in nodes_on(program, ast.Constant, None)
                if isinstance(one.value, str) and one.value != missing
            }
            for other in difflib.get_close_matches(missing, sorted(keys), 3, 0.6):
                if isinstance(node.slice, ast.Constant):
                    yield program.replace(node.slice, quoted(other, key), 0.3)
        if program.has_own_lines(statement) and not is_elif(program, statement):
            for neutral in ("0", "[]", "set()", "''", "{}"):
                body = f"{program.indent_unit}{base}[{key}] = {neutral}"
                lines = [f"if {key} not in {base}:", body]
                yield program.insert_before(statement, lines, 1.4)
        yield from early_exits(program, node, f"{key} not in {base}", 2.2)
        yield from only_if(program, node, f"{key} in {base}", 1.8)


def zero_division(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs a division by zero: by another value, an early exit or a condition."""
    for node in nodes_on(program, ast.BinOp, crash.line):
        if not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            continue
        divisor, whole = program.code(node.right), program.code(node)
        for neutral in ("0", "0.0", "None", "1"):
            if not is_constant(divisor):
                yield program.replace(node, f"{whole} if {divisor} else {neutral}", 1.2)
        right = program.parenthesized(node.right, Precedence.NOT)
        yield from early_exits(program, node, f"not {right}", 1.4)
        yield from only_if(program, node, divisor, 2.0)


def bad_value(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs an invalid argument: by cleaning or converting it, a default, or a condition."""
    for node in nodes_on(program, ast.Call, crash.line):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        given = [program.code(one) for one in node.args]
        if name == "int" and len(given) == 1:
            yield program.replace(node, f"int(float({given[0]}))", 1.2)
            yield program.replace(node, f"float({given[0]})", 1.6)
        if name in ("int", "float") and len(given) == 1:
            base = program.parenthesized(node.args[0], Precedence.ATOM)
            yield program.replace(node, f"{name}({base}.strip())", 1.6)
            yield program.replace(node, f"{name}({given[0]} or 0)", 1.4)
            yield from early_exits(program, node, f"not {given[0]}", 2.0)
            yield from early_exits(program, node, f"not {base}.isdigit()", 2.2)
        if name in ("max", "min") and len(given) == 1:
            for neutral in ("0", "None"):
                yield program.replace(node, f"{name}({given[0]}, default={neutral})", 0.8)
            yield from early_exits(program, node, f"not {given[0]}", 1.4)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("remove", "index") and given:
            base = program.code(node.func.value)
            yield from only_if(program, node, f"{given[0]} in {base}", 1.2)
            yield from early_exits(program, node, f"{given[0]} not in {base}", 1.8)
            if node.func.attr == "index":
                yield program.replace(node, f"{base}.find({given[0]})", 1.6)


def endless(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs an endless loop: by a step of a variable, or a `break`."""
    for loop in nodes_on(program, ast.While, None):
        tested = [one for one in variable_names(loop.test) if one in program.variables(loop)]
        last = loop.body[-1]
        if not program.has_own_lines(last) or last.lineno == loop.lineno:
            continue
        indent = program.indent(loop.body[0])
        steps = []
        for name in tested:
            types = program.observed_types(name)
            if not types or types & {"int", "float"}:
                steps += [f"{name} += 1", f"{name} -= 1", f"{name} //= 2", f"{name} //= 10"]
            if not types or types & {"list", "set", "dict"}:
                steps.append(f"{name}.pop()")
            if types & {"list", "str"}:
                steps.append(f"{name} = {name}[1:]")
            for attribute in program.attributes:
                steps.append(f"{name} = {name}.{attribute}")
        for step in steps:
            yield program.insert_after(last, [step], 2.4, indent)
            for inner in ast.walk(loop):
                if not isinstance(inner, ast.If) or not program.has_own_lines(inner.body[-1]):
                    continue
                if inner.body[-1].lineno > inner.lineno:
                    yield program.insert_after(inner.body[-1], [step], 3.0)
                    yield program.insert_before(inner.body[-1], [step], 3.0)
        yield program.insert_after(last, ["break"], 3.2, indent)
