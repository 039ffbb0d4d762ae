"""Edits of single statements: assignments, unused values, jumps, exception handlers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.edits.library import CONFUSED_EXCEPTIONS
from agent.search.program import BUILTINS, Program, Splice
from agent.search.program.blocks import SIMPLE, in_loop, indented, is_docstring, lines_of


def assignment(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """Replaces an assignment by an augmented one, a maximum or minimum, or a return."""
    if len(node.targets) != 1:
        return
    first, value = node.targets[0], program.code(node.value)
    target = program.code(first)
    if isinstance(first, ast.Tuple):
        if isinstance(node.value, ast.Tuple) and len(first.elts) == len(node.value.elts):
            pairs = [
                f"{program.code(one)} = {program.code(other)}"
                for one, other in zip(first.elts, node.value.elts, strict=True)
            ]
            if program.has_own_lines(node):
                joint = program.newline + program.indent(node)
                yield program.replace_statement(node, joint.join(pairs), cost=4.0)
                yield program.replace_statement(node, joint.join(reversed(pairs)), cost=4.0)
        return
    if isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.UAdd | ast.USub):
        # `x =+ 1` is a typo of `x += 1`.
        sign = "+" if isinstance(node.value.op, ast.UAdd) else "-"
        operand = program.code(node.value.operand)
        yield program.replace_statement(node, f"{target} {sign}= {operand}", cost=1.6)
    for sign, cost in (("+", 2.8), ("-", 3.2), ("*", 3.4), ("|", 5.0), ("//", 5.0)):
        yield program.replace_statement(node, f"{target} {sign}= {value}", cost=cost)
    yield program.replace_statement(node, f"{target} = max({target}, {value})", cost=4.0)
    yield program.replace_statement(node, f"{target} = min({target}, {value})", cost=4.0)
    if program.is_in_function(node):
        yield program.replace_statement(node, f"return {value}", cost=4.4)


def expression(program: Program, node: ast.Expr) -> Iterator[Splice]:
    """Returns or assigns a value that is computed and not used."""
    value = node.value
    if isinstance(value, ast.Constant | ast.Yield | ast.YieldFrom):
        return
    text = program.code(value)
    if program.is_in_function(node):
        yield program.replace_statement(node, f"return {text}", cost=3.2)
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            yield program.replace_statement(node, f"{name} = {text}", cost=3.8)
        case ast.Compare(left=left, ops=[_], comparators=[new]):
            text = f"{program.code(left)} = {program.code(new)}"
            yield program.replace_statement(node, text, cost=1.6)


def jump(program: Program, node: ast.Break | ast.Continue | ast.Pass) -> Iterator[Splice]:
    """Replaces `break`, `continue` or `pass` by another one, or by a return."""
    words = ["break", "continue", "pass"]
    if program.is_in_function(node):
        words += ["return", "return True", "return False", "return None"]
    for word in words:
        yield program.replace_statement(node, word, cost=2.6)
    if program.is_in_function(node):
        for name in program.variables(node):
            yield program.replace_statement(node, f"return {name}", cost=3.8)


def expected_exception(program: Program, node: ast.ExceptHandler) -> Iterator[Splice]:
    """Catches another exception, preferably the one that was raised."""
    if not isinstance(node.type, ast.Name | ast.Attribute | ast.Tuple):
        return
    raised = program.crash.exception if program.crash else ""
    text = program.code(node.type)
    known = raised in CONFUSED_EXCEPTIONS or (
        raised != "AssertionError" and raised in BUILTINS and _raised_inside(program, node)
    )
    if known and raised not in text:
        # A caught exception that cannot occur here was probably written instead of the raised one.
        yield program.replace(node.type, raised, cost=1.8 if _may_raise(program, node) else 1.4)
        parts = text[1:-1] if isinstance(node.type, ast.Tuple) else text
        yield program.replace(node.type, f"({parts.rstrip(', ')}, {raised})", cost=1.6)
    if isinstance(node.type, ast.Name):
        for other in CONFUSED_EXCEPTIONS.get(node.type.id, ()):
            yield program.replace(node.type, other, cost=3.4)
            yield program.replace(node.type, f"({text}, {other})", cost=3.6)


def _raised_inside(program: Program, node: ast.ExceptHandler) -> bool:
    """Whether the crash is in the body of the handler's `try`."""
    parent, crash = program.parents.get(node), program.crash
    if not isinstance(parent, ast.Try) or crash is None or crash.line is None:
        return False
    return parent.body[0].lineno <= crash.line <= (parent.body[-1].end_lineno or 0)


def _may_raise(program: Program, node: ast.ExceptHandler) -> bool:
    """Whether the `try` body can raise the caught exception, judged by its syntax."""
    parent = program.parents.get(node)
    if not isinstance(parent, ast.Try) or not isinstance(node.type, ast.Name):
        return True
    forms = {
        "AttributeError": ast.Attribute, "KeyError": ast.Subscript, "IndexError": ast.Subscript,
        "ZeroDivisionError": ast.BinOp,
    }.get(node.type.id, ast.AST)
    return any(
        isinstance(one, (forms, ast.Call)) for statement in parent.body
        for one in ast.walk(statement)
    )


def wrapped_in_try(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Puts the statement that raised a commonly caught exception into a `try`."""
    crash = program.crash
    if crash is None or crash.exception not in CONFUSED_EXCEPTIONS or crash.line is None:
        return
    if not isinstance(node, SIMPLE) or is_docstring(node) or not program.has_own_lines(node):
        return
    assert node.end_lineno is not None
    if not node.lineno <= crash.line <= node.end_lineno or not program.is_in_function(node):
        return
    indent, end = program.indent(node), program.newline
    start, stop = program.whole_lines(node)
    body = indented(lines_of(program, node), indent + program.indent_unit)
    exits = ["continue"] if in_loop(program, node) else []
    # The failure of a call made for its effect must not be silenced.
    exits += [] if isinstance(node, ast.Expr) else ["pass"]
    exits += [f"return {value}" for value in ("None", "0", "False", "[]", "''", "-1", "True")]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        exits += [f"{node.targets[0].id} = {value}" for value in ("None", "0", "''", "[]")]
    for place, leave in enumerate(exits):
        text = (
            f"{indent}try:{end}{body}{indent}except {crash.exception}:{end}"
            f"{indent}{program.indent_unit}{leave}{end}"
        )
        yield Splice(start, stop, text, 3.0 + 0.05 * place, node.lineno)
