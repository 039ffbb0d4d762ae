"""Edits of whole statements: dropped, moved, wrapped, returned, guarded, indented."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import (
    COMPOUND,
    DEFINITIONS,
    SIMPLE,
    block_of,
    in_loop,
    indented,
    is_docstring,
    is_elif,
    is_generator,
    lines_of,
    neighbour,
)
from agent.repair.edits.expressions import atoms
from agent.repair.edits.observed import separators
from agent.repair.evidence import worth
from agent.repair.program import NUMBERS, SEQUENCES, Function, Program, Splice

NEUTRAL = ("None", "0", "[]", "''", "False", "True")
"""Values a guard may answer with; never one taken from a test."""
MOST_ANSWERS = 20
"""What is tried under one condition."""


def assignment(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """An augmented assignment, a maximum, or a return in place of an assignment."""
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
            if program.alone(node):
                joint = program.newline + program.indent(node)
                yield program.replace_statement(node, joint.join(pairs), 4.0)
                yield program.replace_statement(node, joint.join(reversed(pairs)), 4.0)
        return
    if isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.UAdd | ast.USub):
        # `x =+ 1` is a misspelt `x += 1`.
        sign = "+" if isinstance(node.value.op, ast.UAdd) else "-"
        operand = program.code(node.value.operand)
        yield program.replace_statement(node, f"{target} {sign}= {operand}", 1.6)
    for sign, cost in (("+", 2.8), ("-", 3.2), ("*", 3.4), ("|", 5.0), ("//", 5.0)):
        yield program.replace_statement(node, f"{target} {sign}= {value}", cost)
    yield program.replace_statement(node, f"{target} = max({target}, {value})", 4.0)
    yield program.replace_statement(node, f"{target} = min({target}, {value})", 4.0)
    if program.scope(node) is not program.tree:
        yield program.replace_statement(node, f"return {value}", 4.4)


def returned(program: Program, node: ast.Return) -> Iterator[Splice]:
    """Another returned value."""
    for name in program.variables(node):
        yield program.replace_statement(node, f"return {name}", 3.5)
    if node.value is None:
        for neutral in NEUTRAL[1:]:
            yield program.replace_statement(node, f"return {neutral}", 3.5)
    else:
        yield program.replace_statement(node, f"yield {program.code(node.value)}", 4.4)


def expression(program: Program, node: ast.Expr) -> Iterator[Splice]:
    """A computed value that was thrown away: returned or assigned."""
    value = node.value
    if isinstance(value, ast.Constant):
        return
    text = program.code(value)
    in_function = program.scope(node) is not program.tree
    if isinstance(value, ast.Yield | ast.YieldFrom):
        inner = program.code(value.value) if value.value is not None else "None"
        for word, cost in (("yield", 2.8), ("yield from", 2.8), ("return", 4.0)):
            yield program.replace_statement(node, f"{word} {inner}", cost)
        return
    if in_function:
        yield program.replace_statement(node, f"return {text}", 3.2)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name):
            name = value.func.value.id
            yield program.replace_statement(node, f"{name} = {text}", 3.8)
            if value.func.attr in ("append", "add", "extend") and len(value.args) == 1:
                inner = program.code(value.args[0])
                yield program.replace_statement(node, f"{name} += {inner}", 4.4)
        elif isinstance(value.func, ast.Name):
            for name in program.variables(node):
                yield program.replace_statement(node, f"{name} = {text}", 4.6)
    elif isinstance(value, ast.Compare) and len(value.ops) == 1:
        target, new = program.code(value.left), program.code(value.comparators[0])
        yield program.replace_statement(node, f"{target} = {new}", 1.6)


def jump(program: Program, node: ast.Break | ast.Continue | ast.Pass) -> Iterator[Splice]:
    """Another way to go on, or a return."""
    words = ["break", "continue", "pass"]
    if program.scope(node) is not program.tree:
        words += ["return", "return True", "return False", "return None"]
    for word in words:
        yield program.replace_statement(node, word, 2.6)
    if program.scope(node) is not program.tree:
        for name in program.variables(node):
            yield program.replace_statement(node, f"return {name}", 3.8)


def branch_kind(program: Program, node: ast.If | ast.While) -> Iterator[Splice]:
    """`if` for `while` and `elif`, and the other way round."""
    start = program.start(node)
    word = program.between(start, start + 5)
    if isinstance(node, ast.While):
        yield Splice(start, start + 5, "if", 3.6, node.lineno)
    elif word.startswith("elif"):
        yield Splice(start, start + 4, "if", 3.0, node.lineno)
    else:
        if not node.orelse:
            yield Splice(start, start + 2, "while", 3.6, node.lineno)
        previous = neighbour(program, node, -1)
        if isinstance(previous, ast.If) and not previous.orelse:
            yield Splice(start, start + 2, "elif", 3.0, node.lineno)


def dropped(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A statement taken away; a deliberate `raise` or exit never is."""
    if isinstance(node, (*DEFINITIONS, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)):
        return
    if _ends_the_program(node) or not program.alone(node) or is_elif(program, node):
        return
    block = block_of(program, node)
    start, end = program.whole_lines(node)
    single = node.lineno == node.end_lineno
    real = [one for one in block if not is_docstring(one)]
    text = "" if len(real) > 1 or block is program.tree.body else (
        f"{program.indent(node)}pass{program.newline}"
    )
    if any(isinstance(inner, ast.Raise) or _ends_the_program(inner) for inner in ast.walk(node)):
        return
    yield Splice(start, end, text, 3.2 if single else 4.2, node.lineno)
    after = neighbour(program, node, 1)
    if after is not None and type(after) is type(node) and len(real) > 2 and program.alone(after):
        yield Splice(start, program.whole_lines(after)[1], "", 4.4, node.lineno)


def moved(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A statement exchanged with the next, or moved out of or into its block."""
    if isinstance(node, DEFINITIONS) or not program.alone(node) or is_elif(program, node):
        return
    start, end = program.whole_lines(node)
    own = lines_of(program, node)
    after = neighbour(program, node, 1)
    if after is not None and not isinstance(after, DEFINITIONS) and program.alone(after):
        _, stop = program.whole_lines(after)
        between = program.between(end, program.whole_lines(after)[0])
        text = lines_of(program, after) + between + own
        yield Splice(start, stop, text, 3.4, node.lineno)
    if isinstance(node, SIMPLE):
        block, parent = block_of(program, node), program.parents[node]
        if isinstance(parent, COMPOUND) and block[-1] is node and len(block) > 1:
            # Out of the block: the statement comes after its whole owner.
            owner_end = program.whole_lines(parent)[1]
            text = program.between(end, owner_end) + indented(program, own, program.indent(parent))
            yield Splice(start, owner_end, text, 3.0, node.lineno)
        if isinstance(parent, COMPOUND) and block[0] is node and len(block) > 1:
            owner_start = program.whole_lines(parent)[0]
            outer = indented(program, own, program.indent(parent))
            text = outer + program.between(owner_start, start)
            yield Splice(owner_start, end, text, 3.4, node.lineno)
        before = neighbour(program, node, -1)
        if isinstance(before, COMPOUND) and program.alone(before):
            # Into the block before, and into the last block inside that.
            at: ast.stmt = before
            while isinstance(at, COMPOUND):
                inner = (getattr(at, "orelse", None) or at.body)[-1]
                inner_indent = program.indent(inner)
                yield Splice(
                    start, end, indented(program, own, inner_indent), 3.0, node.lineno
                )
                at = inner


def flattened(program: Program, node: ast.If) -> Iterator[Splice]:
    """A condition's branches exchanged, merged, or done regardless of it."""
    if is_elif(program, node) or not program.alone(node):
        return
    start, end = program.whole_lines(node)
    body = "".join(lines_of(program, one) for one in node.body)
    if node.body[0].lineno == node.lineno:
        return
    head = program.between(start, program.whole_lines(node.body[0])[0])
    outer = program.indent(node)
    if not node.orelse:
        yield Splice(start, end, indented(program, body, outer), 4.0, node.lineno)
        block = block_of(program, node)
        rest = block[block.index(node) + 1 :]
        if rest and program.alone(rest[-1]):
            stop = program.whole_lines(rest[-1])[1]
            lines = program.between(end, stop)
            inner = indented(program, lines, outer + program.step)
            text = program.between(start, end) + f"{outer}else:{program.newline}" + inner
            yield Splice(start, stop, text, 4.0, node.lineno)
    elif not is_elif(program, node.orelse[0]):
        other = "".join(lines_of(program, one) for one in node.orelse)
        yield Splice(start, end, head + body + indented(program, other, outer), 3.6, node.lineno)
        text = head + other + f"{outer}else:{program.newline}" + body
        yield Splice(start, end, text, 3.4, node.lineno)


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


def guarded_start(program: Program, node: Function) -> Iterator[Splice]:
    """An answer for a special parameter, before anything else is done."""
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno or not program.alone(body[0]):
        return
    parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    for name in parameters:
        if name in ("self", "cls"):
            continue
        tests = [f"not {name}"]
        if program.may_be(name, NUMBERS):
            tests += [f"{name} < 0", f"{name} <= 0", f"{name} == 0", f"{name} == 1", f"{name} < 2"]
        if program.may_be(name, frozenset({"list", "str", "tuple"})):
            tests += [f"len({name}) == 1", f"len({name}) < 2"]
        if program.may_be(name, frozenset({"NoneType"})):
            tests.append(f"{name} is None")
        for test in tests:
            for position, answer in enumerate((*NEUTRAL, name, "1", "-1", "{}")):
                yield program.insert_before(
                    body[0], [f"if {test}:", f"{program.step}return {answer}"],
                    4.4 + 0.05 * position,
                )


def guarded(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A statement done only under a condition, or a way out before it."""
    if not isinstance(node, SIMPLE) or not program.alone(node) or is_docstring(node):
        return
    if program.scope(node) is program.tree or _ends_the_program(node):
        return
    start, end = program.whole_lines(node)
    inner = indented(program, lines_of(program, node), program.indent(node) + program.step)
    leaves = ["continue", "break"] if in_loop(program, node) else []
    leaves += ["return False", "return True", "return None"]
    line = node.lineno
    moments = program.moments(line)
    never, always = (False,) * len(moments), (True,) * len(moments)
    for test, cost in atoms(program, node):
        now = program.held(test, line)
        head = f"{program.indent(node)}if {test}:{program.newline}"
        kept = 5.4 + cost + worth(always, now, moments)
        yield Splice(start, end, head + inner, kept, node.lineno)
        if cost < 0.7:
            left = 5.8 + cost + worth(never, now, moments)
            for leave in leaves:
                yield program.insert_before(node, [f"if {test}:", f"{program.step}{leave}"], left)


def answered(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Something the function does elsewhere, done here where failing runs differ."""
    if isinstance(node, DEFINITIONS) or not program.alone(node) or is_elif(program, node):
        return
    scope = program.scope(node)
    tests = separators(program, node.lineno)[:4]
    if scope is program.tree or not tests or is_docstring(node):
        return
    texts = dict.fromkeys(
        program.code(one) for one in ast.walk(scope)
        if isinstance(one, SIMPLE) and one is not node and one.lineno == one.end_lineno
        and not is_docstring(one)
        and (in_loop(program, node) or not isinstance(one, ast.Break | ast.Continue))
    )
    parameters = [one.arg for one in scope.args.args] if isinstance(scope, Function) else []
    neutral = [f"return {value}" for value in (*NEUTRAL, *parameters)]
    for test, _, cost in tests:
        for place, text in enumerate((*texts, *neutral)):
            if place < MOST_ANSWERS:
                lines = [f"if {test}:", f"{program.step}{text}"]
                yield program.insert_before(node, lines, 4.8 + cost + 0.02 * place)


def inserted(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A simple statement of the same function done here too, or one step of a counter."""
    if isinstance(node, DEFINITIONS) or not program.alone(node) or is_elif(program, node):
        return
    scope = program.scope(node)
    if scope is program.tree or is_docstring(node):
        return
    texts: dict[str, float] = {}
    for other in ast.walk(scope):
        if not isinstance(other, SIMPLE) or other is node or is_docstring(other):
            continue
        if other.lineno == other.end_lineno:
            texts.setdefault(program.code(other), 4.6)
    names = program.variables(node)
    for name in names:
        seen = program.seen(name)
        if seen & {"int", "float"}:
            for text in (f"{name} += 1", f"{name} -= 1", f"{name} = 0"):
                texts.setdefault(text, 5.2)
        if "list" in seen:
            for text in (f"{name}.sort()", f"{name}.reverse()", f"{name} = []", f"{name}.pop()"):
                texts.setdefault(text, 5.5)
        if "str" in seen:
            texts.setdefault(f"{name} = ''", 5.5)
        for other_name in names:
            if other_name == name:
                continue
            there = program.seen(other_name)
            if seen & there:
                texts.setdefault(f"{name} = {other_name}", 5.6)
            if seen & there & {"int", "float", "str"}:
                texts.setdefault(f"{name} += {other_name}", 5.8)
            if "list" in seen:
                texts.setdefault(f"{name}.append({other_name})", 5.4)
                if there & SEQUENCES:
                    texts.setdefault(f"{name}.append({other_name}[-1])", 5.8)
                    texts.setdefault(f"{name}.append({other_name}[0])", 5.9)
            if "set" in seen:
                texts.setdefault(f"{name}.add({other_name})", 5.4)
    last = block_of(program, node)[-1] is node
    for text, cost in texts.items():
        yield program.insert_before(node, [text], cost)
        if last and not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            yield program.insert_after(node, [text], cost)


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


def _ends_the_program(node: ast.AST) -> bool:
    """Whether a statement is a deliberate exit: `sys.exit()`, `exit()`, `os._exit()`."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("exit", "_exit", "quit", "abort")


def deliberate_ends(program: Program) -> tuple[tuple[int, int], ...]:
    """Lines of `raise`, `assert` and exits: what the author wanted is not healed away."""
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(program.tree)
        if isinstance(node, ast.Raise | ast.Assert) or _ends_the_program(node)
        if isinstance(node, ast.stmt)
    )
