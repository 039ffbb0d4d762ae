"""Finds the calls of the program in a test, normalised so that notation does not matter.

`f(1, b=2)`, `f(1, 2)` and `x = 1; solution.f(x, 2)` are the same call. Arguments are bound by the
program's signatures, loops and parametrized tests over literals are unrolled, and an object is
identified by the calls that created and changed it. Other calls are identified by their text.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from agent.core.domain import Solution, TestCase, digest
from agent.core.trees import expression, literal, literal_source
from agent.target.discovery.effects import keeps_state
from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    FunctionNode,
    called_name,
    imports,
    name_usage,
    parsed,
    statements_of,
    toplevel,
    toplevel_names,
)


class Signatures:
    """The signatures of the program's functions, constructors and methods, as far as certain."""

    def __init__(self, program: str) -> None:
        self.names = toplevel_names(program)
        self.methods: set[str] = set()
        self.attributes: set[str] = set()
        """Attributes of its classes' objects, without plain methods."""
        self._functions: dict[str, inspect.Signature] = {}
        self._methods: dict[str, inspect.Signature | None] = {}
        for node in toplevel(statements_of(program)):
            if isinstance(node, FunctionNode):
                self._functions.pop(node.name, None)
                if not node.decorator_list:
                    self._functions[node.name] = _signature(node.args, 0)
            elif isinstance(node, ast.ClassDef):
                self._read_class(node)

    def _read_class(self, node: ast.ClassDef) -> None:
        for inner in ast.walk(node):
            match inner:
                case ast.Attribute(attr=name, ctx=ast.Store()) | ast.AnnAssign(
                    target=ast.Name(id=name)
                ):
                    self.attributes.add(name)
        for one in node.body:
            if not isinstance(one, FunctionNode):
                continue
            if one.decorator_list:
                self.attributes.add(one.name)
            self.methods.add(one.name)
            found = None if one.decorator_list else _signature(one.args, 1)
            if one.name == "__init__" and found is not None and not node.decorator_list:
                self._functions[node.name] = found
            # A method name of two classes is ambiguous.
            self._methods[one.name] = None if one.name in self._methods else found

    def bound(
        self, name: str, args: Sequence[str], keywords: Mapping[str, str], *,
        method: bool = False, defaults: bool = True,
    ) -> str:
        """The call with its arguments by parameter; as written if they fit no signature."""
        known = (self._methods if method else self._functions).get(name)
        if known is not None:
            try:
                bound = known.bind(*args, **keywords)
            except TypeError:
                pass
            else:
                if defaults:
                    bound.apply_defaults()
                given: dict[str, str] = {}
                for key, value in bound.arguments.items():
                    many = isinstance(value, dict)
                    given |= value if many else {key: value if isinstance(value, str) else
                                                 f"*({', '.join(value)})"}
                return f"{name}({', '.join(f'{key}={given[key]}' for key in sorted(given))})"
        named = [f"{key}={keywords[key]}" for key in sorted(keywords)]
        return f"{name}({', '.join([*args, *named])})"


def _signature(arguments: ast.arguments, skipped: int) -> inspect.Signature:
    """The parameters with their defaults as text, without the first `skipped` ones."""
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*[None] * required, *arguments.defaults]
    parameters = [
        kinds(one.arg, kinds.POSITIONAL_ONLY if place < len(arguments.posonlyargs)
              else kinds.POSITIONAL_OR_KEYWORD, default=_default(default))
        for place, (one, default) in enumerate(zip(positional, defaults, strict=True))
    ][skipped:]
    if arguments.vararg:
        parameters.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    parameters += [
        kinds(one.arg, kinds.KEYWORD_ONLY, default=_default(default))
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        parameters.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _default(node: ast.expr | None) -> object:
    if node is None:
        return inspect.Parameter.empty
    known = literal(node)
    return literal_source(known[0]) if known else ast.unparse(node)


@lru_cache(maxsize=8)
def signatures(program: str) -> Signatures:
    return Signatures(program)


def program_references(
    body: Sequence[ast.stmt], stem: str, names: Collection[str]
) -> tuple[dict[str, str], frozenset[str]]:
    """How the code of a test refers to the program, whose module is `stem`.

    Returns:
        The test's names for names of the program ("" is its module), and all names that the test
        defines itself or imports from elsewhere.
    """
    def is_program(module: str) -> bool:
        return module.rpartition(".")[2] in (stem, "solution")

    own = {name: "" for name in (stem, "solution") if name not in names}
    foreign = {node.name for node in toplevel(body) if isinstance(node, Definition)}
    for one in imports(*body):
        renamed = one.name or one.bound != one.module.partition(".")[0]
        if is_program(one.name or one.module) and (renamed or one.module in (stem, "solution")):
            own[one.bound] = ""
        elif one.name and is_program(one.module):
            own[one.bound] = one.name
        else:
            foreign.add(one.bound)
    return own, frozenset(foreign)


def target(node: ast.expr, own: Mapping[str, str], names: Collection[str]) -> str:
    """The one of the program's `names` to which an expression refers; empty if to none.

    `own` is the first result of `program_references`.
    """
    match node:
        case ast.Name(id=name) if own.get(name, name) in names:
            return own.get(name, name)
        case ast.Attribute(value=ast.Name(id=module), attr=name) if own.get(module) == "":
            return name if name in names else ""
    return ""


MAX_STEPS = 3_000
"""Statements of a test that are read; those in unrolled loops count once per iteration."""
MAX_TURNS = 300
"""Maximum number of iterations of a loop over literals that is unrolled."""
LONGEST_HISTORY = 500
"""Characters of an object's history, above which it is hashed."""
_CALLING = frozenset({"assertRaises", "assertWarns", "raises", "warns"})
"""Checks that make a call: `assertRaises(ValueError, f, 3)` calls `f(3)`."""


def calls_made(test: TestCase, program: Solution) -> frozenset[str]:
    """The calls of the program in a test, and the attributes of its objects that it reads.

    If there are none, the names that it reads, such as `output`, the program's standard output. A
    test of a file has all calls of the file, because a model that sees the test sees the file.
    """
    code = test.call if test.kind == "example" else test.code
    try:
        return _calls_made(code, program.text, PurePosixPath(program.entry).stem)
    except (SyntaxError, RecursionError):
        return frozenset({code})


def makes_new_calls(test: TestCase, others: Iterable[TestCase], program: Solution) -> bool:
    """Whether a test makes a call that none of the other tests makes."""
    known = frozenset[str]().union(*(calls_made(other, program) for other in others))
    return not calls_made(test, program) <= known


@lru_cache(maxsize=4096)
def _calls_made(code: str, program: str, stem: str) -> frozenset[str]:
    body = parsed(code).body
    reader = _CallReader(body, signatures(program), stem, keeps_state(program))
    reader.statements(body)
    reads = name_usage(*body).reads
    if reader.found:
        return frozenset(reader.found)
    return frozenset(f"the name {name}" for name in map(reader.program_name, reads) if name)


class _CallReader:
    """Reads the statements of a test in order and records the calls of the program."""

    def __init__(
        self, body: Sequence[ast.stmt], known: Signatures, stem: str, stateful: bool
    ) -> None:
        self.known = known
        self.found: dict[str, None] = {}
        self.own, foreign = program_references(body, stem, known.names)
        names = name_usage(*body).binds | {
            one.arg for node in body for one in ast.walk(node) if isinstance(one, ast.arg)
        }
        self._foreign_names = foreign | names - self.own.keys()
        """Names that do not refer to the program."""
        self._stateful = stateful
        self._before = ""
        """The earlier calls in the same test, if the program keeps state."""
        self._variable_values: dict[str, str] = {}
        """The values of the test's variables, as text."""
        self._steps = 0

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self._steps += 1
            if self._steps <= MAX_STEPS:
                self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                held, before = dict(self._variable_values), self._before
                for argument in node.args.args:
                    self._variable_values.pop(argument.arg, None)
                for target_node, row in self._rows(node):
                    self._bind(target_node, row)
                    self.statements(node.body)
                    self._before = before
                self._variable_values = held
            case ast.ClassDef(body=body):
                self.statements(body)
            case ast.For(target=target_node, iter=items, body=body, orelse=orelse):
                rows = self._loop_items(items)
                if not rows:
                    self._bind(target_node, items, of_many=True)
                    self.statements(body)
                for row in rows or ():
                    self._bind(target_node, row)
                    self.statements(body)
                self.statements(orelse)
            case ast.Assign(targets=[target_node], value=value):
                self._bind(target_node, value)
            case ast.AnnAssign(target=target_node, value=ast.expr() as value):
                self._bind(target_node, value)
            case ast.AugAssign(target=ast.Name(id=name) as target_node, op=kind, value=value):
                self._bind(target_node, ast.BinOp(ast.Name(name, ast.Load()), kind, value))
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    target_node = item.optional_vars or ast.Tuple([], ast.Store())
                    self._bind(target_node, item.context_expr, of_many=True)
                self.statements(body)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._child(child)

    def _child(self, node: ast.AST) -> None:
        """Reads an expression or block of a compound statement."""
        if isinstance(node, ast.expr):
            self.text(node)
        elif isinstance(node, ast.stmt):
            self.statement(node)
        else:
            for child in ast.iter_child_nodes(node):
                self._child(child)

    def _rows(self, node: FunctionNode) -> list[tuple[ast.expr, ast.expr]]:
        """The parameters and each row of a parametrized test; one empty row for other tests."""
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(args=[ast.Constant(value=str(names)), rows, *_]) if (
                    called_name(decorator).endswith("parametrize")
                ):
                    target_node, turns = expression(names), self._loop_items(rows)
                    if target_node is not None and turns:
                        return [(target_node, row) for row in turns]
        nothing = ast.Tuple([], ast.Load())
        return [(nothing, nothing)]

    def _loop_items(self, items: ast.expr) -> Sequence[ast.expr] | None:
        """The items of a loop over literals, in order; `None` if they are unknown."""
        match items:
            case ast.Name(id=name):
                held = expression(self._variable_values.get(name, "")) or items
                return None if isinstance(held, ast.Name) else self._loop_items(held)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) if literal(items):
                return parts if len(parts) <= MAX_TURNS else None
            case ast.Call(func=ast.Name("range"), args=[_, *_] as bounds):
                given = [literal(one) for one in bounds]
                values = [one[0] for one in given if one and isinstance(one[0], int)]
                if len(values) == len(bounds) <= 2:
                    return [ast.Constant(one) for one in range(*values)[:MAX_TURNS]]
        return None

    def _bind(self, target_node: ast.expr, value: ast.expr, *, of_many: bool = False) -> None:
        """Binds names to their values, or to the whole value if their part of it is unknown."""
        if isinstance(value, ast.Name) and not isinstance(target_node, ast.Name):
            value = expression(self._variable_values.get(value.id, "")) or value
        match target_node, value:
            case ast.Name(id=name), _ if not of_many:
                self._variable_values[name] = self.text(value)
            case ast.Tuple(elts=target_nodes) | ast.List(elts=target_nodes), (
                ast.Tuple(elts=parts) | ast.List(elts=parts)
            ) if len(target_nodes) == len(parts) and not of_many:
                for one, part in zip(target_nodes, parts, strict=True):
                    self._bind(one, part)
            case _:
                shown = _short(self.text(value))
                for name in sorted(name_usage(target_node).binds):
                    self._variable_values[name] = f"{name} of {shown}"

    def program_name(self, name: str) -> str:
        """The name of the program to which a name refers; empty if to none.

        An unbound name may belong to the repaired program.
        """
        if name in self.own:
            return self.own[name]
        free = name in self.known.names or name not in BUILTIN_NAMES
        return name if free and name not in self._foreign_names else ""

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return "" if node.id in self._variable_values else self.program_name(node.id)
        return target(node, self.own, self.known.names)

    def text(self, node: ast.expr) -> str:
        """The normalised text of an expression; records each call of the program in it."""
        value = literal(node)
        if value is not None:
            return literal_source(value[0])
        match node:
            case ast.Name(id=name):
                return self._variable_values.get(name) or self.own.get(name) or name
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=owner, attr=name):
                shown = target(node, self.own, self.known.names) or f"{self.text(owner)}.{name}"
                if name in self.known.attributes:
                    self.found.setdefault(f"{self._before}{shown}")
                return shown
        return self._shown(node)

    def _shown(self, node: ast.AST) -> str:
        """The kind of an expression and its normalised parts."""
        parts = [
            self.text(child) if isinstance(child, ast.expr) else self._shown(child)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr | ast.comprehension | ast.cmpop | ast.operator)
        ]
        return f"{type(node).__name__}[{' '.join(parts)}]"

    def _call(self, node: ast.Call) -> str:
        if called_name(node).rpartition(".")[2] in _CALLING and len(node.args) > 1:
            self._call(ast.Call(node.args[1], node.args[2:], node.keywords))
        given = [self.text(one) for one in node.args]
        named = {one.arg or "**": self.text(one.value) for one in node.keywords}
        name = self._target(node.func)
        if name:
            return self._recorded(self.known.bound(name, given, named))
        match node.func:
            case ast.Attribute(value=owner, attr=name) if name in self.known.methods:
                shown = self.text(owner)
                call = self.known.bound(name, given, named, method=True)
                if isinstance(owner, ast.Name) and owner.id in self._variable_values:
                    self._variable_values[owner.id] = _short(f"({shown} after {call})")
                return self._recorded(f"{shown}.{call}")
        return f"{self.text(node.func)}({', '.join([*given, *map(str, named.items())])})"

    def _recorded(self, call: str) -> str:
        self.found.setdefault(f"{self._before}{call}")
        if self._stateful:
            self._before = _short(f"{self._before}{call}, then ")
        return call


def _short(text: str) -> str:
    """The hash of a history that is too long, since each call extends it; else the text."""
    return text if len(text) <= LONGEST_HISTORY else f"{digest(text)}, then "
