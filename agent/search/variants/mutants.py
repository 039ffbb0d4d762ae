"""Mutants of repaired lines: small wrong changes that good tests should detect.

The operators are the classical ones of mutation testing: relational, arithmetic and logical
operator replacement, negation, constants off by one, statement deletion, returned values.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from agent.core.trees import parse
from agent.search.edits import Operator, Propose
from agent.search.edits.constants import number, truth
from agent.search.edits.library import ARITHMETIC
from agent.search.edits.moves import dropped
from agent.search.edits.operators import arithmetic, augmented, comparison, connective, negation
from agent.search.program import BINARY, Function, Precedence, Program, Splice, spliced
from agent.search.program.blocks import is_docstring
from agent.search.wording import edit_in_words

MOST = 40
"""The maximum number of mutants of one repair; if there are more, they are sampled evenly."""

RELATIONAL: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "is": ("is not",), "is not": ("is",),
    "in": ("not in",), "not in": ("in",),
}
"""Replacements of comparisons: with the other bound, and the opposite."""

DIVISIONS = frozenset({"/", "//", "**"})
"""Not used as replacements: for many numbers they give equal or huge results."""


@dataclass(frozen=True)
class Mutant:
    """The whole text of the entry file, and a description of the change."""

    text: str
    note: str


def mutants(text: str, lines: Collection[int]) -> tuple[Mutant, ...]:
    """Up to `MOST` mutants of some lines of a program, in text order.

    Deterministic; empty if the text does not parse.
    """
    try:
        program = Program(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    places = sorted(
        (splice for splice in _splices(program) if _line(program, splice) in lines),
        key=lambda one: (one.start, one.end, one.text),
    )
    texts = dict.fromkeys(spliced(program.data, [place]) for place in places)
    chosen = [one for one in texts if one != text]
    if len(chosen) > MOST:
        chosen = [chosen[place * len(chosen) // MOST] for place in range(MOST)]
    return tuple(Mutant(one, edit_in_words(text, one)) for one in chosen)


def repaired_lines(before: str, after: str) -> frozenset[int]:
    """Lines of `after`, counted from 1, that `before` does not have."""
    return frozenset(
        line + 1
        for kind, _, _, first, last in differences(before, after)
        if kind != "equal"
        for line in range(first, last)
    )


def surrounding_lines(before: str, after: str) -> frozenset[int]:
    """Lines of the functions of `after` in which something was changed or removed, or all lines
    if that was outside of all functions."""
    places = {
        line + 1
        for kind, _, _, first, last in differences(before, after)
        if kind != "equal"
        for line in range(max(0, first - 1), max(last, first + 1))
    }
    try:
        tree = parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    found: set[int] = set()
    for place in places:
        inside: list[range] = [
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for node in ast.walk(tree)
            if isinstance(node, Function)
            and node.lineno <= place <= (node.end_lineno or node.lineno)
        ]
        if not inside:
            return frozenset(range(1, after.count("\n") + 2))
        nearest = min(inside, key=len)
        found.update(nearest)
    return frozenset(found)


def differences(before: str, after: str) -> Iterator[tuple[str, int, int, int, int]]:
    """The `difflib` opcodes between the lines of two texts."""
    old, new = before.split("\n"), after.split("\n")
    yield from difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _splices(program: Program) -> Iterator[Splice]:
    """All mutations of a program, without annotations and the like."""
    for node in program.nodes:
        if node in program.fixed_nodes:
            continue
        for mutation in MUTATIONS:
            if isinstance(node, mutation.kinds):
                yield from mutation.propose(program, node)


def _line(program: Program, splice: Splice) -> int:
    """The line in which a splice begins."""
    return program.data.count(b"\n", 0, splice.start) + 1


# The operators. Their costs have no meaning.


def _relational(program: Program, node: ast.Compare) -> Iterator[Splice]:
    for splice in comparison(program, node):
        old = " ".join(program.between(splice.start, splice.end).split())
        if splice.text in RELATIONAL.get(old, ()):
            yield splice


def _unary(program: Program, node: ast.UnaryOp) -> Iterator[Splice]:
    yield program.replace(node, program.parenthesized(node.operand, Precedence.UNARY), 1.0)


def _negated(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Negates a condition; comparisons and `not` have their own operators."""
    if program.is_condition(node):
        yield from negation(program, node)


def _returned(program: Program, node: ast.Return) -> Iterator[Splice]:
    if node.value is not None and program.code(node.value) != "None":
        yield program.replace_statement(node, "return None", 1.0)


def _dropped(program: Program, node: ast.stmt) -> Iterator[Splice]:
    if not is_docstring(node):
        yield from dropped(program, node)


def _first(propose: Propose, most: int = 1) -> Propose:
    """The first edits that an operator of the search proposes."""
    return lambda program, node: islice(propose(program, node), most)


def _sign(propose: Propose) -> Propose:
    """The first other arithmetic operator that is not in `DIVISIONS`."""
    def proposed(program: Program, node: ast.BinOp | ast.AugAssign) -> Iterator[Splice]:
        signs = ARITHMETIC[BINARY[type(node.op)][0]]
        place = next(place for place, sign in enumerate(signs) if sign not in DIVISIONS)
        return islice(propose(program, node), place, place + 1)

    return proposed


MUTATIONS: tuple[Operator, ...] = (
    Operator("comparison", (ast.Compare,), _relational),
    Operator("arithmetic", (ast.BinOp,), _sign(arithmetic)),
    Operator("augmented assignment", (ast.AugAssign,), _sign(augmented)),
    Operator("and, or", (ast.BoolOp,), _first(connective)),
    Operator("sign or not", (ast.UnaryOp,), _unary),
    Operator("negation", (ast.Name, ast.Attribute, ast.Subscript, ast.Call), _negated),
    Operator("number", (ast.Constant,), _first(number, 2)),
    Operator("True, False", (ast.Constant,), _first(truth)),
    Operator("returned value", (ast.Return,), _returned),
    Operator("statement dropped", (ast.stmt,), _dropped),
)
"""The mutation operators, in the format of the search's own table."""
