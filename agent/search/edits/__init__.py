"""The table of edit operators, and a generator of all single edits of a program by cost."""

from __future__ import annotations

import ast
import heapq
import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Any

from agent.search.edits import (
    calls,
    classes,
    conditions,
    constants,
    coroutines,
    crashes,
    everyday,
    expressions,
    functions,
    moves,
    names,
    operators,
    sequences,
    statements,
    templates,
)
from agent.search.edits.forgotten import (
    arguments,
    entries,
    kept_state,
    loops,
    missing_raise,
    refinements,
    steps,
)
from agent.search.program import Function, Program, Splice
from agent.search.values import TRANSLATED, never

Propose = Callable[[Program, Any], Iterator[Splice]]
"""Proposes edits of a node; `Any` because each row of the table has its own kind of node."""


@dataclass(frozen=True)
class Operator:
    """A row of the table: a name, the kinds of node it handles, a generator of edits, and counts.

    An edit's cost is the operator's own estimate, plus a price for how often the operator gave a
    repair, plus the suspicion of its line. The cheapest edit is the likeliest. Bugs planted by
    authors who knew the operators cannot show how well this order works on other bugs.
    """

    name: str
    kinds: tuple[type[ast.AST], ...]
    propose: Propose
    repairs: int = 0
    """How often it gave the right repair in published sets: QuixBugs, HumanEvalFix (the development
    set), samples of DebugBench and Refactory, and single-edit fixes by developers in ConDefects.
    The bugs of Refactory and ConDefects were made by people, the others planted; none is our own.
    0 if it gave none or was written later."""
    offers: int = 0
    """The mean number of its edits per program, over the programs of the development set and bugs
    planted by us for which it offers any."""
    least: float = 0.0
    """The cost of its cheapest edit in 90 modules of the standard library, 0 if there is none. It
    only decides the order in which edits are listed."""

    @cached_property
    def price(self) -> float:
        """Added to the cost of its edits: the more edits it offers per repair, the higher."""
        return -WEIGHT * math.log((self.repairs + REPAIRS_SMOOTHING) / self.offers)


@dataclass(frozen=True, slots=True)
class Edit:
    """A splice, the operator that proposed it, and its cost at its place in the program."""

    splice: Splice
    operator: str
    cost: float

    @property
    def place(self) -> tuple[int, int, str]:
        """Identifies the edit: several operators may propose the same one."""
        return self.splice.start, self.splice.end, self.splice.text


_FUNCTIONS: tuple[type[ast.AST], ...] = (ast.FunctionDef, ast.AsyncFunctionDef)

_VALUES: tuple[type[ast.AST], ...] = (ast.expr,)
"""For operators of all expressions; only expressions that are read are passed to them."""

EDITS: tuple[Operator, ...] = (
    # name, kinds, propose, repairs, offers, least
    Operator("reported mistake", (ast.Module,), templates.reported, 0, 2, 0.2),
    Operator("known mistake", templates.NODES, templates.known, 0, 3, 0.4),
    Operator("comparison", (ast.Compare,), operators.comparison, 56, 10, 1.4),
    Operator("sides of a comparison", (ast.Compare,), operators.comparison_sides, 0, 15, 3.0),
    Operator("arithmetic", (ast.BinOp,), operators.arithmetic, 25, 14, 2.0),
    Operator("operands", (ast.BinOp,), operators.operands, 4, 7, 2.2),
    Operator("augmented assignment", (ast.AugAssign,), operators.augmented, 10, 17, 2.0),
    Operator("and, or", (ast.BoolOp,), operators.connective, 3, 4, 2.0),
    Operator("negation", _VALUES, operators.negation, 2, 2, 2.5),
    Operator("number", (ast.Constant,), constants.number, 46, 42, 1.8),
    Operator("True, False", (ast.Constant,), constants.truth, 2, 70, 1.5),
    Operator("string", (ast.Constant,), constants.string, 6, 90, 2.2),
    Operator("variable", (ast.Name,), names.variable, 32, 16, 2.2),
    Operator("assigned variable", (ast.Name,), names.target, 4, 9, 4.5),
    Operator("function", (ast.Name,), names.function, 1, 6, 2.5),
    Operator("method", (ast.Attribute,), names.method, 6, 6, 2.5),
    Operator("attribute", (ast.Attribute,), names.attribute, 1, 2, 2.5),
    Operator("element of", (ast.Name,), names.element_of, 0, 70, 5.6),
    Operator("arguments", (ast.Call,), calls.arguments, 8, 8, 2.6),
    Operator("idiom", (ast.Call,), calls.idiom, 0, 7, 2.8),
    Operator("call unwrapped", (ast.Call,), calls.unwrapped, 12, 3, 3.4),
    Operator("value wrapped", _VALUES, calls.wrapped, 9, 102, 3.5),
    Operator("index", (ast.Subscript,), sequences.index, 3, 14, 2.6),
    Operator("slice", (ast.Slice,), sequences.bounds, 1, 10, 3.0),
    Operator("elements", (ast.List, ast.Tuple), sequences.display, 2, 8, 3.0),
    Operator("initial value", (ast.List, ast.Dict), sequences.initial_value, 8, 15, 3.5),
    Operator("filter", (ast.comprehension,), sequences.filtered, 2, 26, 3.5),
    Operator("off by one", _VALUES, expressions.off_by_one, 44, 10, 1.8),
    Operator("operand added", _VALUES, expressions.operand, 15, 136, 5.0),
    Operator("expression from nearby", _VALUES, expressions.donor, 14, 117, 3.9),
    Operator("simpler expression", _VALUES, expressions.simpler, 0, 40, 4.0),
    Operator("condition", _VALUES, conditions.condition, 5, 573, 4.8),
    Operator("assignment", (ast.Assign,), statements.assignment, 2, 15, 1.6),
    Operator("unused value", (ast.Expr,), statements.expression, 0, 4, 2.8),
    Operator("jump", (ast.Break, ast.Continue, ast.Pass), statements.jump, 0, 18, 2.6),
    Operator("statement dropped", (ast.stmt,), moves.dropped, 2, 4, 3.2),
    Operator("statement moved", (ast.stmt,), moves.moved, 2, 5, 3.0),
    Operator("missing return", _FUNCTIONS, functions.missing_return, 17, 9, 2.0),
    Operator("guard at the start", _FUNCTIONS, conditions.guarded_start, 9, 57, 4.4),
    Operator("guard", (ast.stmt,), conditions.guarded, 10, 418, 5.4),
    Operator("statement inserted", (ast.stmt,), moves.inserted, 2, 112, 4.6),
    Operator("copy", (ast.Assign, ast.Return), functions.copied, 0, 2, 2.6),
    Operator("not called", (ast.Attribute, ast.Name), calls.not_called, 0, 2, 1.2),
    Operator("joined or unique", (ast.Call,), calls.unique_in_order, 0, 2, 2.4),
    Operator("comma", (ast.Constant,), constants.comma, 0, 1, 1.6),
    Operator("format string", (ast.Constant,), constants.f_prefix, 0, 1, 0.0),
    Operator("date format", (ast.Constant,), constants.date_format, 0, 4, 2.6),
    Operator("number's format", (ast.JoinedStr,), constants.number_format, 0, 6, 1.6),
    Operator("awaited", (ast.Call,), coroutines.awaited, 0, 2, 0.4),
    Operator("loop over a coroutine", (ast.For,), coroutines.looped, 0, 1, 0.4),
    Operator("expected exception", (ast.ExceptHandler,), statements.expected_exception, 0, 2, 3.4),
    Operator("attempt", (ast.stmt,), statements.wrapped_in_try, 0, 8, 0.0),
    Operator("self", (ast.Name,), classes.missing_self, 0, 1, 0.8),
    Operator("field", (ast.Assign,), classes.field_assignment, 0, 1, 1.8),
    Operator("constructor", (ast.FunctionDef,), classes.constructor, 0, 2, 0.8),
    Operator("other operand", (ast.FunctionDef,), classes.other_operand, 0, 2, 2.2),
    Operator("hash like equality", (ast.FunctionDef,), classes.hash_like_equality, 0, 1, 1.2),
    Operator("affixes", (ast.Call,), entries.affixes, 0, 4, 2.6),
    Operator("kind of method", (ast.FunctionDef,), classes.method_kind, 0, 2, 0.4),
    Operator("order", (ast.Call,), calls.sort_key, 0, 11, 3.2),
    Operator("class and module", (ast.Attribute,), names.class_of_module, 0, 2, 0.0),
    Operator("all of a sequence", (ast.Subscript,), sequences.aggregate, 0, 4, 0.0),
    Operator("twin", (ast.stmt,), moves.twin, 0, 6, 3.8),
    Operator("else branch", (ast.If,), moves.else_branch, 0, 18, 4.2),
    Operator("True and False exchanged", _FUNCTIONS, constants.swapped_booleans, 0, 1, 2.6),
    Operator("spelling of answers", _FUNCTIONS, constants.respelled_returns, 0, 2, 2.8),
    Operator("another variable converted", (ast.Name,), expressions.converted, 0, 21, 0.0),
    Operator("observed word", (ast.Constant,), constants.observed_key, 0, 2, 0.0),
    Operator("what may be absent", (ast.Compare,), refinements.none_guard, 0, 10, 3.2),
    Operator("unread name", _VALUES, refinements.unused_name, 0, 6, 2.6),
    Operator("spelling", _VALUES, refinements.normalised_text, 0, 20, 3.4),
    Operator("whole part", (ast.Call,), refinements.path_prefix, 0, 5, 0.0),
    Operator("field added", _VALUES, refinements.field_added, 0, 8, 3.0),
    Operator("order of a loop", _VALUES, loops.order, 0, 6, 2.8),
    Operator("while for if", (ast.If,), loops.while_for_if, 0, 1, 2.4),
    Operator("left over", (ast.For, ast.While), loops.flushed, 0, 3, 2.8),
    Operator("rounds", (ast.BinOp,), loops.modulo, 0, 3, 2.6),
    Operator("bound clamped", (ast.Slice,), sequences.clamped, 0, 2, 2.4),
    Operator(
        "variable set back", (ast.Continue, ast.Break, ast.Return), steps.reset_variable, 0, 4, 3.0,
    ),
    Operator("condition copied", (ast.stmt,), steps.copied_condition, 0, 10, 3.2),
    Operator("field of data", (ast.AnnAssign,), classes.data_field, 0, 3, 0.0),
    Operator("entry", (ast.Dict, ast.List, ast.Tuple, ast.Set), entries.entry, 0, 12, 0.0),
    Operator("word given", (ast.Call,), entries.argument, 0, 4, 0.0),
    Operator("alphabet", (ast.Constant,), entries.alphabet, 0, 10, 0.0),
    Operator("pattern", (ast.Constant,), entries.pattern, 0, 30, 3.0),
    Operator("early answer", (ast.stmt,), steps.early_exit, 0, 80, 3.6),
    Operator(TRANSLATED, (ast.stmt,), missing_raise.translated, 0, 2, 1.6),
    Operator("first branch", (ast.If,), moves.first_branch, 0, 2, 2.8),
    Operator("missing exception", (ast.stmt,), missing_raise.missing_raise, 0, 60, 0.6),
    Operator("argument at hand", (ast.Call,), arguments.available, 0, 3, 2.4),
    Operator("base of an exception", (ast.ClassDef,), arguments.exception_base, 0, 8, 3.0),
    Operator("restarted", (ast.stmt,), steps.reset_field, 0, 2, 1.2),
    Operator("begun in each call", _FUNCTIONS, kept_state.created_per_call, 0, 2, 1.0),
    Operator("emptiness", _VALUES, everyday.emptiness, 0, 4, 2.2),
    Operator("lookup", (ast.Subscript, ast.Call), everyday.lookup, 0, 8, 2.6),
    Operator("copy of a value", _VALUES, everyday.copy, 0, 8, 3.4),
    Operator("helper", _VALUES, everyday.helper, 0, 60, 4.0),
    Operator("converted parameter", _FUNCTIONS, everyday.converted, 0, 40, 4.2),
    Operator("callee", (ast.Name, ast.Attribute), everyday.callee, 0, 12, 2.8),
    Operator("own lookup", (ast.Subscript,), everyday.own_lookup, 0, 3, 2.6),
    Operator("class or exception", (ast.Call,), everyday.kind, 0, 20, 3.0),
    Operator("grouping", (ast.BoolOp,), everyday.grouping, 0, 1, 2.4),
    Operator("like its siblings", (ast.Dict,), everyday.like_siblings, 0, 1, 2.0),
    Operator("crash", (ast.Module,), crashes.crash, 14, 27, 0.0),
)

REPAIRS_SMOOTHING = 2
"""Added to the repairs of each operator, since 0 may mean that it was written later."""
WEIGHT = 0.1
"""Weight of the logarithm in `price`. The operators' own costs already reflect frequencies; a
higher weight ranked the development set's repairs later."""
DEFAULT_SUSPICION = 1.0
"""Suspicion of every line if no line has one."""
SUSPICION_WEIGHT = 2.5
RAISING_BONUS, DEFINING_BONUS = 0.7, 0.5
"""How much cheaper an edit is on the line that raised, and where a name that it reads was bound."""
EVIDENCE_BONUS = 1.0
"""How far runtime evidence may lower an edit's cost below the lowest cost of its operator."""
LARGE_PROGRAM_NODES = 4_000
"""Number of nodes above which each operator proposes at most `MAX_PER_NODE` edits per node."""
MAX_PER_NODE = 8
MAX_EDITS = 80_000


def edits_by_cost(
    program: Program, suspicion: Mapping[int, float], protected: tuple[tuple[int, int], ...] = (),
    operators: tuple[Operator, ...] | None = None, *, within: ast.AST | None = None,
    closed: Collection[ast.AST] = (), over: Callable[[], bool] = never,
) -> Iterator[Edit]:
    """Yields all single edits lazily, approximately cheapest first.

    An operator is applied to a node only when its edits there can come next. If two operators
    propose the same edit at different costs, it may be yielded twice.

    Args:
        program: The program to edit.
        suspicion: Suspicion of each line from 0 to 1; empty if unknown.
        protected: First and last lines of ranges that must not be edited.
        operators: The operators to apply; by default the whole table.
        within: Only edits inside this node.
        closed: Functions whose bodies are skipped, and statements that are skipped.
        over: If it returns true, no further edits are proposed; those found so far are yielded.
    """
    nodes = list(_walk_without(within or program.tree, closed))
    propose = _Proposals(
        program, suspicion, EDITS if operators is None else operators, closed,
        MAX_PER_NODE if len(nodes) > LARGE_PROGRAM_NODES else None,
        [(program.line_start(first), program.line_start(last + 1)) for first, last in protected],
    )
    costs: dict[tuple[int, int, str], float] = {}
    numbers = count()
    pending: list[tuple[float, int, Edit | _PendingNode]] = []
    for node in nodes:
        if node not in program.fixed_nodes:
            pending_node = propose.pending_node(node)
            pending.append((pending_node.bound, next(numbers), pending_node))
    heapq.heapify(pending)
    while pending:
        _, _, first = heapq.heappop(pending)
        if isinstance(first, Edit):
            yield first
            continue
        if over() or len(costs) > MAX_EDITS:
            continue
        for edit in propose.next_edits(first):
            if edit.cost < costs.get(edit.place, math.inf):
                costs[edit.place] = edit.cost
                heapq.heappush(pending, (edit.cost, next(numbers), edit))
        if first.operators:
            heapq.heappush(pending, (first.bound, next(numbers), first))


@dataclass(slots=True)
class _PendingNode:
    """A node and the operators that have not been applied to it yet, the cheapest last."""

    node: ast.AST
    place_cost: float
    """The minimum that the suspicion of its lines adds to an edit's cost."""
    operators: list[tuple[float, Operator]]

    @property
    def bound(self) -> float:
        """An approximate lower bound of the next edit's cost."""
        return self.place_cost + self.operators[-1][0] if self.operators else math.inf


class _Proposals:
    """Applies operators to the nodes of a program and computes the costs of their edits."""

    def __init__(
        self, program: Program, suspicion: Mapping[int, float], operators: tuple[Operator, ...],
        closed: Collection[ast.AST], each: int | None, guarded: Sequence[tuple[int, int]],
    ) -> None:
        self._program, self._suspicion, self._operators = program, suspicion, operators
        self._closed, self._each, self._guarded = closed, each, guarded
        self._raising = program.crash.line if program.crash else None
        self._defining = _definition_lines(program, self._raising)
        self._kinds: dict[type[ast.AST], list[tuple[float, Operator]]] = {}

    def pending_node(self, node: ast.AST) -> _PendingNode:
        read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        is_value = read and not isinstance(node, ast.Slice | ast.Starred)
        return _PendingNode(node, self._place_cost(node), [
            (least, one) for least, one in self._of_kind(type(node))
            if (is_value or one.kinds != _VALUES)
            and not (one.kinds == _FUNCTIONS and node in self._closed)
        ])

    def next_edits(self, pending_node: _PendingNode) -> Iterator[Edit]:
        """The edits that the next operator proposes at a node."""
        if not pending_node.operators:
            return
        _, operator = pending_node.operators.pop()
        for splice in islice(operator.propose(self._program, pending_node.node), self._each):
            if not self._is_rejected(splice):
                yield Edit(splice, operator.name, self._cost(operator, splice))

    def _of_kind(self, kind: type[ast.AST]) -> list[tuple[float, Operator]]:
        if kind not in self._kinds:
            self._kinds[kind] = sorted(
                ((one.least + one.price - EVIDENCE_BONUS, one)
                 for one in self._operators if issubclass(kind, one.kinds)),
                key=lambda one: -one[0],
            )
        return self._kinds[kind]

    def _place_cost(self, node: ast.AST) -> float:
        """The cost of editing a node, given by its most suspicious line."""
        first = getattr(node, "lineno", None)
        if first is None or not self._suspicion:
            return 0.0
        lines = range(first, (getattr(node, "end_lineno", None) or first) + 1)
        most = max(self._suspicion.get(line, 0.0) for line in lines)
        bonus = max(self._crash_bonus(line) for line in lines)
        return SUSPICION_WEIGHT * (1.0 - most) - bonus

    def _cost(self, operator: Operator, splice: Splice) -> float:
        suspicion = self._suspicion.get(splice.line, 0.0) if self._suspicion else DEFAULT_SUSPICION
        cost = splice.cost + operator.price + SUSPICION_WEIGHT * (1.0 - suspicion)
        return cost - self._crash_bonus(splice.line)

    def _crash_bonus(self, line: int) -> float:
        """How much cheaper an edit of a line is because of the crash."""
        return RAISING_BONUS if line == self._raising else DEFINING_BONUS * (line in self._defining)

    def _is_rejected(self, splice: Splice) -> bool:
        """Whether a splice changes nothing, or touches a protected range."""
        start, end = splice.start, splice.end
        text = splice.text.encode("utf-8", "surrogatepass")
        return self._program.data[start:end] == text or any(
            start < last and max(end, start + 1) > first for first, last in self._guarded
        )


def _definition_lines(program: Program, raising: int | None) -> frozenset[int]:
    """The lines that bind names which the raising line reads, in the same function."""
    names = [one for one in program.nodes if isinstance(one, ast.Name)]
    there = [one for one in names if one.lineno == raising and isinstance(one.ctx, ast.Load)]
    read = {(program.scope(one), one.id) for one in there}
    return frozenset(
        line for one in names
        if isinstance(one.ctx, ast.Store) and (program.scope(one), one.id) in read
        for line in _lines_of_binding(program.statement(one), one)
    )


def _lines_of_binding(statement: ast.stmt, name: ast.Name) -> range:
    """The lines of an assignment; for a compound statement, only the line of the name."""
    simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
    last = (statement.end_lineno or name.lineno) if simple else name.lineno
    return range(statement.lineno if simple else name.lineno, last + 1)


def unexecuted(program: Program, suspicion: Mapping[int, float]) -> list[Function | ast.stmt]:
    """Functions that no failing test entered, and statements of others that none executed.

    In source order; empty if unknown. Edits inside them cannot make a failing test pass, unless
    the test ended before it reached them.
    """
    if not suspicion:
        return []
    called = program.crash.message if program.crash else ""
    found: list[Function | ast.stmt] = []
    pending: list[ast.AST] = [program.tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Function):
            lines = range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
            # A call with wrong arguments fails before the function is entered; the message then
            # names the function.
            if not any(suspicion.get(line) for line in lines) and f"{node.name}(" not in called:
                found.append(node)
                continue
        elif isinstance(node, ast.stmt) and isinstance(program.scope(node), Function) and not any(
            suspicion.get(line) for line in range(node.lineno, (node.end_lineno or 0) + 1)
        ):
            found.append(node)
            continue
        pending += reversed([*ast.iter_child_nodes(node)])
    return found


def _walk_without(root: ast.AST, closed: Collection[ast.AST]) -> Iterator[ast.AST]:
    """`ast.walk` (breadth first) without `closed` statements and bodies of `closed` functions."""
    pending = deque([root])
    while pending:
        node = pending.popleft()
        body = set(node.body) if isinstance(node, Function) and node in closed else ()
        pending.extend(
            child for child in ast.iter_child_nodes(node)
            if child not in body and (child not in closed or isinstance(child, Function))
        )
        yield node


__all__ = ["EDITS", "Edit", "Operator", "edits_by_cost", "unreached"]
