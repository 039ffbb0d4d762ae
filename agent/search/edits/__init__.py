"""The table of edit operators, and a generator of all single edits of a program by cost."""

from __future__ import annotations

import ast
import heapq
import math
import tomllib
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import count, islice
from typing import Any

from agent.search.edits import (
    calls,
    classes,
    conditions,
    constants,
    coroutines,
    crashes,
    expressions,
    functions,
    moves,
    names,
    operators,
    sequences,
    statements,
    templates,
)
from agent.search.edits.forgotten import arguments, entries, kept_state, loops, refinements, steps
from agent.search.program import Function, Program, Splice
from agent.search.values import never

Propose = Callable[[Program, Any], Iterator[Splice]]
"""Proposes edits of a node; `Any` because each row of the table has its own kind of node."""


@dataclass(frozen=True)
class Operator:
    """A row of the table: its name, the kinds of node it handles, and its generator of edits."""

    name: str
    kinds: tuple[type[ast.AST], ...]
    propose: Propose


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
    Operator("reported mistake", (ast.Module,), templates.reported),
    Operator("known mistake", templates.NODES, templates.known),
    Operator("comparison", (ast.Compare,), operators.comparison),
    Operator("sides of a comparison", (ast.Compare,), operators.comparison_sides),
    Operator("arithmetic", (ast.BinOp,), operators.arithmetic),
    Operator("operands", (ast.BinOp,), operators.operands),
    Operator("augmented assignment", (ast.AugAssign,), operators.augmented),
    Operator("and, or", (ast.BoolOp,), operators.connective),
    Operator("negation", _VALUES, operators.negation),
    Operator("number", (ast.Constant,), constants.number),
    Operator("True, False", (ast.Constant,), constants.truth),
    Operator("string", (ast.Constant,), constants.string),
    Operator("variable", (ast.Name,), names.variable),
    Operator("assigned variable", (ast.Name,), names.target),
    Operator("function", (ast.Name,), names.function),
    Operator("method", (ast.Attribute,), names.method),
    Operator("attribute", (ast.Attribute,), names.attribute),
    Operator("element of", (ast.Name,), names.element_of),
    Operator("arguments", (ast.Call,), calls.arguments),
    Operator("idiom", (ast.Call,), calls.idiom),
    Operator("call unwrapped", (ast.Call,), calls.unwrapped),
    Operator("value wrapped", _VALUES, calls.wrapped),
    Operator("index", (ast.Subscript,), sequences.index),
    Operator("slice", (ast.Slice,), sequences.bounds),
    Operator("elements", (ast.List, ast.Tuple), sequences.display),
    Operator("initial value", (ast.List, ast.Dict), sequences.initial_value),
    Operator("filter", (ast.comprehension,), sequences.filtered),
    Operator("off by one", _VALUES, expressions.off_by_one),
    Operator("operand added", _VALUES, expressions.operand),
    Operator("expression from nearby", _VALUES, expressions.donor),
    Operator("simpler expression", _VALUES, expressions.simpler),
    Operator("condition", _VALUES, conditions.condition),
    Operator("assignment", (ast.Assign,), statements.assignment),
    Operator("unused value", (ast.Expr,), statements.expression),
    Operator("jump", (ast.Break, ast.Continue, ast.Pass), statements.jump),
    Operator("statement dropped", (ast.stmt,), moves.dropped),
    Operator("statement moved", (ast.stmt,), moves.moved),
    Operator("missing return", _FUNCTIONS, functions.missing_return),
    Operator("guard at the start", _FUNCTIONS, conditions.guarded_start),
    Operator("guard", (ast.stmt,), conditions.guarded),
    Operator("statement inserted", (ast.stmt,), moves.inserted),
    Operator("copy", (ast.Assign, ast.Return), functions.copied),
    Operator("not called", (ast.Attribute, ast.Name), calls.not_called),
    Operator("joined or unique", (ast.Call,), calls.unique_in_order),
    Operator("comma", (ast.Constant,), constants.comma),
    Operator("format string", (ast.Constant,), constants.f_prefix),
    Operator("date format", (ast.Constant,), constants.date_format),
    Operator("number's format", (ast.JoinedStr,), constants.number_format),
    Operator("awaited", (ast.Call,), coroutines.awaited),
    Operator("loop over a coroutine", (ast.For,), coroutines.looped),
    Operator("expected exception", (ast.ExceptHandler,), statements.expected_exception),
    Operator("attempt", (ast.stmt,), statements.wrapped_in_try),
    Operator("self", (ast.Name,), classes.missing_self),
    Operator("field", (ast.Assign,), classes.field_assignment),
    Operator("constructor", (ast.FunctionDef,), classes.constructor),
    Operator("kind of method", (ast.FunctionDef,), classes.method_kind),
    Operator("order", (ast.Call,), calls.sort_key),
    Operator("class and module", (ast.Attribute,), names.class_of_module),
    Operator("all of a sequence", (ast.Subscript,), sequences.aggregate),
    Operator("twin", (ast.stmt,), moves.twin),
    Operator("else branch", (ast.If,), moves.else_branch),
    Operator("True and False exchanged", _FUNCTIONS, constants.swapped_booleans),
    Operator("spelling of answers", _FUNCTIONS, constants.respelled_returns),
    Operator("another variable converted", (ast.Name,), expressions.converted),
    Operator("observed word", (ast.Constant,), constants.observed_key),
    Operator("what may be absent", (ast.Compare,), refinements.none_guard),
    Operator("unread name", _VALUES, refinements.unused_name),
    Operator("spelling", _VALUES, refinements.normalised_text),
    Operator("whole part", (ast.Call,), refinements.path_prefix),
    Operator("field added", _VALUES, refinements.field_added),
    Operator("order of a loop", _VALUES, loops.order),
    Operator("while for if", (ast.If,), loops.while_for_if),
    Operator("left over", (ast.For, ast.While), loops.flushed),
    Operator("rounds", (ast.BinOp,), loops.modulo),
    Operator("bound clamped", (ast.Slice,), sequences.clamped),
    Operator("variable set back", (ast.Continue, ast.Break, ast.Return), steps.reset_variable),
    Operator("condition copied", (ast.stmt,), steps.copied_condition),
    Operator("field of data", (ast.AnnAssign,), classes.data_field),
    Operator("entry", (ast.Dict, ast.List, ast.Tuple, ast.Set), entries.entry),
    Operator("word given", (ast.Call,), entries.argument),
    Operator("alphabet", (ast.Constant,), entries.alphabet),
    Operator("pattern", (ast.Constant,), entries.pattern),
    Operator("early answer", (ast.stmt,), steps.early_exit),
    Operator("argument at hand", (ast.Call,), arguments.available),
    Operator("base of an exception", (ast.ClassDef,), arguments.exception_base),
    Operator("restarted", (ast.stmt,), steps.reset_field),
    Operator("begun in each call", _FUNCTIONS, kept_state.created_per_call),
    Operator("crash", (ast.Module,), crashes.crash),
)

COUNTS: dict[str, tuple[int, int, float]] = tomllib.loads(
    files(__package__).joinpath("operators.toml").read_text(encoding="utf-8")
)
"""Repairs found with each operator, edits it offers per program, and the lowest cost of one; see
`operators.toml` for the sources."""
NEVER_COUNTED = 2
WEIGHT = 0.1
"""Weight of the logarithm in `price`. The operators' own costs already reflect frequencies; a
higher weight ranked the development set's repairs later."""
UNTRACED = 1.0
"""Suspicion of every line if no line has one."""
PER_SUSPICION = 2.5
RAISING_LINE = 0.7
EVIDENCE = 1.0
"""How far runtime evidence may lower an edit's cost below the lowest cost of its operator."""
LARGE = 4_000
"""Number of nodes above which each operator proposes at most `MAX_EACH` edits per node."""
MAX_EACH = 8
MAX_EDITS = 80_000


def price(operator: str) -> float:
    """The addition to the cost of an operator's edits: higher, the less often one is the repair."""
    repairs, offers, _ = COUNTS[operator]
    return -WEIGHT * math.log((repairs + NEVER_COUNTED) / offers)


def drawn_edits(
    program: Program,
    suspicion: Mapping[int, float],
    protected: tuple[tuple[int, int], ...] = (),
    operators: tuple[Operator, ...] | None = None,
    *,
    within: ast.AST | None = None,
    closed: Collection[ast.AST] = (),
    over: Callable[[], bool] = never,
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
        closed: Functions whose bodies are skipped.
        over: If it returns true, no further edits are proposed; those found so far are yielded.
    """
    nodes = list(_walked(within or program.tree, closed))
    propose = _Proposals(
        program, suspicion, EDITS if operators is None else operators, closed,
        MAX_EACH if len(nodes) > LARGE else None,
        [(program.line_start(first), program.line_start(last + 1)) for first, last in protected],
    )
    costs: dict[tuple[int, int, str], float] = {}
    numbers = count()
    waiting: list[tuple[float, int, Edit | _Listing]] = []
    for node in nodes:
        if node not in program.hidden:
            listing = propose.listing(node)
            waiting.append((listing.bound, next(numbers), listing))
    heapq.heapify(waiting)
    while waiting:
        _, _, first = heapq.heappop(waiting)
        if isinstance(first, Edit):
            yield first
            continue
        if over() or len(costs) > MAX_EDITS:
            continue
        for edit in propose.next_of(first):
            if edit.cost < costs.get(edit.place, math.inf):
                costs[edit.place] = edit.cost
                heapq.heappush(waiting, (edit.cost, next(numbers), edit))
        if first.operators:
            heapq.heappush(waiting, (first.bound, next(numbers), first))


@dataclass(slots=True)
class _Listing:
    """A node and the operators that have not been applied to it yet, the cheapest last."""

    node: ast.AST
    place_cost: float
    """The least that is added to an edit's cost for its lines."""
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
        self._prices = {one.name: price(one.name) for one in operators}
        self._raising = program.crash.line if program.crash else None
        self._kinds: dict[type[ast.AST], list[tuple[float, Operator]]] = {}

    def listing(self, node: ast.AST) -> _Listing:
        read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        is_value = read and not isinstance(node, ast.Slice | ast.Starred)
        return _Listing(node, self._place_cost(node), [
            (least, one) for least, one in self._of_kind(type(node))
            if (is_value or one.kinds != _VALUES)
            and not (one.kinds == _FUNCTIONS and node in self._closed)
        ])

    def next_of(self, listing: _Listing) -> Iterator[Edit]:
        """The edits that the next operator proposes at a node."""
        if not listing.operators:
            return
        _, operator = listing.operators.pop()
        for splice in islice(operator.propose(self._program, listing.node), self._each):
            if not self._is_idle(splice):
                yield Edit(splice, operator.name, self._cost(operator, splice))

    def _of_kind(self, kind: type[ast.AST]) -> list[tuple[float, Operator]]:
        if kind not in self._kinds:
            self._kinds[kind] = sorted(
                ((COUNTS[one.name][2] + self._prices[one.name] - EVIDENCE, one)
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
        return PER_SUSPICION * (1.0 - most) - RAISING_LINE * (self._raising in lines)

    def _cost(self, operator: Operator, splice: Splice) -> float:
        suspicion = self._suspicion.get(splice.line, 0.0) if self._suspicion else UNTRACED
        cost = splice.cost + self._prices[operator.name] + PER_SUSPICION * (1.0 - suspicion)
        return cost - RAISING_LINE * (splice.line == self._raising)

    def _is_idle(self, splice: Splice) -> bool:
        """Whether a splice changes nothing, or touches a protected range."""
        start, end = splice.start, splice.end
        text = splice.text.encode("utf-8", "surrogatepass")
        return self._program.data[start:end] == text or any(
            start < last and max(end, start + 1) > first for first, last in self._guarded
        )


def unreached(program: Program, suspicion: Mapping[int, float]) -> list[Function]:
    """Functions whose bodies no failing test entered, in source order; empty if unknown.

    No edit inside them can make a failing test pass.
    """
    if not suspicion:
        return []
    called = program.crash.message if program.crash else ""
    found: list[Function] = []
    pending: list[ast.AST] = [program.tree]
    while pending:
        node = pending.pop()
        if not isinstance(node, Function):
            pending += reversed([*ast.iter_child_nodes(node)])
            continue
        lines = range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
        # A call with wrong arguments fails before it enters the function that the message names.
        if not any(suspicion.get(line) for line in lines) and f"{node.name}(" not in called:
            found.append(node)
    return found


def _walked(root: ast.AST, closed: Collection[ast.AST]) -> Iterator[ast.AST]:
    """`ast.walk` (breadth first) that skips the bodies of `closed` functions."""
    pending = deque([root])
    while pending:
        node = pending.popleft()
        body = set(node.body) if isinstance(node, Function) and node in closed else ()
        pending.extend(child for child in ast.iter_child_nodes(node) if child not in body)
        yield node


__all__ = ["EDITS", "Edit", "Operator", "drawn_edits", "unreached"]
