"""Edits that drop, move, insert or repeat statements, or add an `else` branch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations

from agent.search.program import NUMBERS, SEQUENCES, Program, Splice, variable_names
from agent.search.program.blocks import (
    COMPOUND,
    DEFINITIONS,
    SIMPLE,
    block_of,
    in_loop,
    indented,
    is_docstring,
    is_elif,
    is_program_exit,
    lines_of,
    neighbour,
    simple_statements,
)

MAX_OTHERS = 6


def dropped(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Removes a statement, but never a deliberate `raise`, `assert` or exit."""
    if isinstance(node, (*DEFINITIONS, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)):
        return
    if is_program_exit(node) or not program.has_own_lines(node) or is_elif(program, node):
        return
    block = block_of(program, node)
    start, end = program.whole_lines(node)
    single = node.lineno == node.end_lineno
    real = [one for one in block if not is_docstring(one)]
    text = "" if len(real) > 1 or block is program.tree.body else (
        f"{program.indent(node)}pass{program.newline}"
    )
    if any(isinstance(inner, ast.Raise) or is_program_exit(inner) for inner in ast.walk(node)):
        return
    # A branch that contains only `pass` afterwards is an unlikely repair.
    yield Splice(start, end, text, (3.2 if single else 4.2) + 1.2 * bool(text), node.lineno)
    after = neighbour(program, node, 1)
    is_pair = after is not None and type(after) is type(node) and len(real) > 2
    if after is not None and is_pair and program.has_own_lines(after):
        yield Splice(start, program.whole_lines(after)[1], "", 4.4, node.lineno)


def moved(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Swaps a statement with the next, or moves it out of its block or into the block before."""
    if isinstance(node, DEFINITIONS) or not program.has_own_lines(node) or is_elif(program, node):
        return
    start, end = program.whole_lines(node)
    own = lines_of(program, node)
    after = neighbour(program, node, 1)
    if after is not None and not isinstance(after, DEFINITIONS) and program.has_own_lines(after):
        _, stop = program.whole_lines(after)
        between = program.between(end, program.whole_lines(after)[0])
        text = lines_of(program, after) + between + own
        yield Splice(start, stop, text, 3.4, node.lineno)
    if isinstance(node, SIMPLE):
        block, parent = block_of(program, node), program.parents[node]
        if isinstance(parent, COMPOUND) and block[-1] is node and len(block) > 1:
            # Out of the block: after the whole compound statement.
            owner_end = program.whole_lines(parent)[1]
            text = program.between(end, owner_end) + indented(own, program.indent(parent))
            yield Splice(start, owner_end, text, 3.0, node.lineno)
        if isinstance(parent, COMPOUND) and block[0] is node and len(block) > 1:
            owner_start = program.whole_lines(parent)[0]
            outer = indented(own, program.indent(parent))
            text = outer + program.between(owner_start, start)
            yield Splice(owner_start, end, text, 3.4, node.lineno)
        before = neighbour(program, node, -1)
        if isinstance(before, COMPOUND) and program.has_own_lines(before):
            # Into the block before, and into the last block nested in it.
            at: ast.stmt = before
            while isinstance(at, COMPOUND):
                inner = (getattr(at, "orelse", None) or at.body)[-1]
                inner_indent = program.indent(inner)
                yield Splice(start, end, indented(own, inner_indent), 3.0, node.lineno)
                at = inner


def inserted(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Inserts a simple statement of the same function, or a common one like `count += 1`."""
    if isinstance(node, DEFINITIONS) or not program.has_own_lines(node) or is_elif(program, node):
        return
    scope = program.scope(node)
    if scope is program.tree or is_docstring(node):
        return
    texts = {program.code(one): 4.6 for one in simple_statements(scope) if one is not node}
    names = program.variables(node)
    for name in names:
        types = program.observed_types(name)
        if types & {"int", "float"}:
            for text in (f"{name} += 1", f"{name} -= 1", f"{name} = 0"):
                texts.setdefault(text, 5.2)
        if "list" in types:
            for text in (f"{name}.sort()", f"{name}.reverse()", f"{name} = []", f"{name}.pop()"):
                texts.setdefault(text, 5.5)
        if "str" in types:
            texts.setdefault(f"{name} = ''", 5.5)
        for other_name in names:
            if other_name == name:
                continue
            other_types = program.observed_types(other_name)
            if types & other_types:
                texts.setdefault(f"{name} = {other_name}", 5.6)
            if types & other_types & {"int", "float", "str"}:
                texts.setdefault(f"{name} += {other_name}", 5.8)
            if "list" in types:
                texts.setdefault(f"{name}.append({other_name})", 5.4)
                if other_types & SEQUENCES:
                    texts.setdefault(f"{name}.append({other_name}[-1])", 5.8)
                    texts.setdefault(f"{name}.append({other_name}[0])", 5.9)
            if "set" in types:
                texts.setdefault(f"{name}.add({other_name})", 5.4)
            if types & {"list", "set"}:
                texts.setdefault(f"{name}.remove({other_name})", 5.4)
            if "dict" in types:
                texts.setdefault(f"{name}.pop({other_name}, None)", 5.6)
    last = block_of(program, node)[-1] is node
    for text, cost in texts.items():
        yield program.insert_before(node, [text], cost)
        if last and not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            yield program.insert_after(node, [text], cost)


def twin(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Adds a copy of a statement after it, with another variable."""
    if not isinstance(node, SIMPLE) or not program.has_own_lines(node) or is_docstring(node):
        return
    if not program.is_in_function(node) or node.lineno != node.end_lineno:
        return
    if isinstance(node, ast.Return | ast.Break | ast.Continue):
        return
    for text, cost in (*with_other_variable(program, node), *_with_two_others(program, node)):
        yield program.insert_after(node, [text], cost)


def _with_two_others(program: Program, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """A statement's texts with two of its variables replaced by two others of the same types."""
    names = [one for one in variable_names(node) if one in program.variables(node)]
    others = [one for one in program.variables(node) if one not in names][:MAX_OTHERS]
    for first, second in combinations(names, 2):
        for one, two in permutations(others, 2):
            if all(
                program.observed_types(old) & program.observed_types(new)
                for old, new in ((first, one), (second, two))
            ):
                new = {first: one, second: two}
                text = re.sub(
                    rf"(?<![\w.])({first}|{second})\b", lambda found: new[found[0]],  # noqa: B023
                    program.code(node),
                )
                yield text, 4.2


def with_other_variable(program: Program, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """A statement's texts with one of its variables replaced by another of the same type, and
    their costs."""
    names: dict[str, list[ast.Name]] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one not in program.fixed_nodes:
            names.setdefault(one.id, []).append(one)
    variables = program.variables(node)
    start = program.start(node)
    own = program.code(node).encode()
    for name, places in names.items():
        if name not in variables:
            continue
        for other in variables:
            if other == name or other in names:
                continue
            types, other_types = program.observed_types(name), program.observed_types(other)
            if types and other_types and not types & other_types:
                continue
            text = own
            for place in sorted(places, key=program.start, reverse=True):
                at = program.start(place) - start
                text = text[:at] + other.encode() + text[at + len(name.encode()) :]
            stored = any(isinstance(place.ctx, ast.Store) for place in places)
            unread = not program.reads.get(other)
            unknown = not types or not other_types
            yield text.decode(), 4.2 + 0.6 * unknown - 0.6 * stored - 0.4 * unread


def else_branch(program: Program, node: ast.If) -> Iterator[Splice]:
    """Adds an `else` branch to an `if` that has none."""
    last = node.body[-1]
    if node.orelse or not program.has_own_lines(last) or last.lineno == node.lineno:
        return
    scope = program.scope(node)
    if scope is program.tree:
        return
    texts: dict[str, float] = {}
    for one in node.body:
        if isinstance(one, SIMPLE) and one.lineno == one.end_lineno:
            for text, cost in with_other_variable(program, one):
                texts.setdefault(text, cost + 0.4)
    for other in simple_statements(scope):
        jumps = isinstance(other, ast.Break | ast.Continue)
        if other not in node.body and not (jumps and not in_loop(program, node)):
            texts.setdefault(program.code(other), 4.8)
    for name in program.variables(node):
        if program.observed_types(name) & NUMBERS:
            for text in (f"{name} += 1", f"{name} -= 1", f"{name} = 0"):
                texts.setdefault(text, 5.2)
    for text in ("break", "continue") if in_loop(program, node) else ():
        texts.setdefault(text, 5.0)
    for text in ("return False", "return True", "return None"):
        texts.setdefault(text, 5.4)
    indent = program.indent(node)
    for text, cost in texts.items():
        yield program.insert_after(last, ["else:", f"{program.indent_unit}{text}"], cost, indent)


def first_branch(program: Program, node: ast.If) -> Iterator[Splice]:
    """Tests a later `elif` of an `if` first, or all in reverse; makes an `if` after another one an
    `elif`."""
    if is_elif(program, node):
        return
    before = neighbour(program, node, -1)
    if isinstance(before, ast.If) and not before.orelse and program.has_own_lines(node):
        start = program.start(node)
        yield Splice(start, start, "el", 2.4, node.lineno)
    branches = [node]
    while branches[-1].orelse and is_elif(program, branches[-1].orelse[0]):
        [following] = branches[-1].orelse
        assert isinstance(following, ast.If)
        branches.append(following)
    spans = [
        (program.start(one.test), program.line_start(last) + len(program.lines[last - 1].encode()))
        for one in branches if (last := one.body[-1].end_lineno)
    ]
    gaps = [program.between(one[1], two[0]) for one, two in pairwise(spans)]
    if len(spans) > 2:
        texts = [program.between(*one) for one in reversed(spans)]
        rest = "".join(f"{gap}{text}" for gap, text in zip(gaps, texts[1:], strict=True))
        yield Splice(spans[0][0], spans[-1][1], texts[0] + rest, 2.7, node.lineno)
    for place in range(1, len(spans)):
        start, end = spans[place]
        texts = [program.between(*one) for one in spans[:place]]
        rest = "".join(f"{gap}{text}" for gap, text in zip(gaps, texts, strict=False))
        yield Splice(
            spans[0][0], end, f"{program.between(start, end)}{rest}", 2.8 + 0.2 * place, node.lineno
        )
