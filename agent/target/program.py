"""Finds the tests in the program's own text: its asserts and test functions.

They also stay in the text: `protected_lines` lists the lines that no edit may change, and
`keeps_own_tests` checks that an edited text still contains all of them.

An assert runs after the program was imported, so it reads the values of its top-level statements
(`total`). If a later statement changes such a value, the test repeats the statements that create it
(`stack = Stack()`, `stack.push(1)`), except those that read the environment (`input()`, `open`,
`sys.argv`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache

from agent.core.domain import Script, TestCase
from agent.target.discovery.effects import changed_by
from agent.target.discovery.pytest_files import (
    FoundTest,
    collected,
    import_line,
    is_fixture,
    needs_plugin,
    with_line,
)
from agent.target.discovery.snippets import LocatedTest, located_tests
from agent.target.parsing import (
    Definition,
    FunctionNode,
    called_name,
    checking_helpers,
    checks,
    dotted,
    imports,
    is_future_import,
    is_import,
    is_main_guard,
    lines_of,
    name_usage,
    shortened,
    statement_source,
    statements_of,
    toplevel,
    walk_scope,
)

_ENVIRONMENT_CALLS = frozenset({"input", "open", "exit", "quit", "breakpoint"})
_EXIT_CALLS = ("sys.exit", "exit", "quit")
_PYTEST_FIXTURES = frozenset({
    "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "doctest_namespace",
    "monkeypatch", "pytestconfig", "record_property", "recwarn", "request", "tmp_path",
    "tmp_path_factory", "tmpdir", "tmpdir_factory",
})


def tests_from_program(text: str, entry: str = "solution.py") -> tuple[LocatedTest, ...]:
    """The program's asserts, each with its line, and its test functions, in order."""
    body = statements_of(text)
    return (*_asserts(text, body), *((None, test) for test in _functions(text, body, entry)))


def line_of_end(text: str) -> int | None:
    """The line at which the program always exits when it is imported."""
    for node in statements_of(text):
        match node:
            case ast.Expr(value=ast.Call() as call) if called_name(call) in _EXIT_CALLS:
                return node.lineno
            case ast.Raise(exc=ast.expr() as raised):
                if "SystemExit" in (dotted(raised), called_name(raised)):
                    return node.lineno
    return None


def protected_lines(text: str) -> frozenset[int]:
    """Lines of the user's asserts and test functions, which no edit may change."""
    return frozenset(line for node in own_tests(text) for line in lines_of(node))


@lru_cache(maxsize=16)
def own_tests(text: str) -> tuple[ast.stmt, ...]:
    body = statements_of(text)
    return tuple(sorted([*own_asserts(body), *_test_part(body)], key=lambda node: node.lineno))


def keeps_own_tests(before: str, after: str) -> bool:
    """Whether `after` contains every test of the program `before` in the same order."""
    tests = [ast.dump(node) for node in own_tests(before)]
    statements = iter(ast.dump(node) for node in toplevel(statements_of(after)))
    return all(test in statements for test in tests)  # in order, as it is an iterator


def without_added_asserts(text: str, before: str) -> str:
    """Removes top-level asserts that `before` lacks, since models repeat the tests there."""
    own = {ast.dump(node) for node in own_tests(before)}
    added = [
        node for node in statements_of(text)
        if isinstance(node, ast.Assert) and ast.dump(node) not in own
    ]
    removed = {line for node in added for line in lines_of(node)}
    lines = text.split("\n")
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in removed)


def own_asserts(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Top-level statements that contain an `assert` themselves, also under the main guard."""
    found: list[ast.stmt] = []
    for node in body:
        if is_main_guard(node) and isinstance(node, ast.If):
            found += own_asserts(node.body)
        elif not isinstance(node, Definition) and any(
            isinstance(inner, ast.Assert) for inner in walk_scope(node)
        ):
            found.append(node)
    return found


def changes_between(text: str, names: Collection[str]) -> bool:
    """Whether these tests are asserts of the program with another statement between them."""
    body = [
        inner for node in statements_of(text)
        for inner in (node.body if is_main_guard(node) and isinstance(node, ast.If) else [node])
    ]
    asserts = [
        node for node in own_asserts(body)
        if {ast.unparse(node), shortened(statement_source(text, node))} & {*names}
    ]
    if len(asserts) < len({*names}):
        return False
    first, last = asserts[0].lineno, asserts[-1].lineno
    own = {*map(id, own_asserts(body))}
    return any(first < node.lineno < last and id(node) not in own for node in body)


def _asserts(text: str, body: list[ast.stmt]) -> Sequence[LocatedTest]:
    """Each assert of the program with its setup, converted as a snippet."""
    part = set(map(id, _test_part(body)))
    flat = [
        inner
        for node in body if id(node) not in part
        for inner in (node.body if is_main_guard(node) and isinstance(node, ast.If) else [node])
    ]
    asserts = [node for node in own_asserts(flat) if not _reads_environment(node)]
    if not asserts:
        return []
    guarded = [one for node in body if is_main_guard(node) for one in ast.iter_child_nodes(node)]
    not_run = frozenset().union(*(
        changed_by(one) for one in guarded if isinstance(one, ast.stmt) and _is_plain(one)
    ))
    code = _at_own_lines(text, _statements_to_repeat(flat, asserts, not_run))
    values = frozenset().union(*(name_usage(node).binds for node in flat if _is_plain(node)))
    return located_tests(code, text, values)


def _is_plain(node: ast.stmt) -> bool:
    return not isinstance(node, Definition) and not is_import(node)


def _statements_to_repeat(
    flat: Sequence[ast.stmt], asserts: Sequence[ast.stmt], not_run: frozenset[str]
) -> list[ast.stmt]:
    """The asserts, and the statements that their tests must repeat, in order.

    Only values that a later statement changes are created again, and those that no import creates
    (`not_run`).
    """
    changing = _changing_later(flat, asserts) | not_run
    needed: set[str] = set()
    repeated: list[ast.stmt] = []
    for node in reversed(flat):
        names = name_usage(node)
        if node in asserts:
            repeated.append(node)
            needed |= names.reads
        elif is_import(node):
            if _is_standard(node) and names.binds & needed:
                repeated.append(node)
        elif _is_plain(node) and not _reads_environment(node) and (
            changed_by(node) & needed & changing
        ):
            repeated.append(node)
            needed |= names.reads
    return repeated[::-1]


def _changing_later(flat: Sequence[ast.stmt], asserts: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that a statement after the first assert that needs them may change."""
    needed: set[str] = set()
    changing: set[str] = set()
    for node in flat:
        if node in asserts:
            needed |= name_usage(node).reads
        elif _is_plain(node):
            changing |= changed_by(node) & needed
    return frozenset(changing)


def _at_own_lines(text: str, statements: Sequence[ast.stmt]) -> str:
    """The statements at column 0, each on its line of the program if that is still free."""
    lines: list[str] = []
    for node in statements:
        lines += [""] * (lines_of(node).start - 1 - len(lines))
        lines += statement_source(text, node).split("\n")
    return "\n".join(lines)


def _reads_environment(node: ast.AST) -> bool:
    return any(
        called_name(one) in _ENVIRONMENT_CALLS or dotted(one) in (
            "sys.argv", "sys.stdin", "os.environ", "sys.exit"
        )
        for one in ast.walk(node)
    )


def _is_standard(node: ast.AST) -> bool:
    return all(one.top in sys.stdlib_module_names for one in imports(node))


def _own_functions(body: list[ast.stmt]) -> list[FoundTest]:
    """Test functions of the program: named as tests, with checks, and callable by pytest."""
    entries = collected(body)
    if not entries:
        return []
    helpers = checking_helpers(body)
    fixtures = _PYTEST_FIXTURES | {
        node.name for node in body if isinstance(node, Definition) and is_fixture(node)
    }
    found = []
    for entry in entries:
        if needs_plugin(entry) or not any(checks(s, helpers) for s in entry.function.body):
            continue
        if entry.owner is None and not re.match(r"test(_|$)", entry.function.name):
            continue
        # A decorator may provide its arguments.
        decorated = entry.function.decorator_list or (entry.owner and entry.owner.decorator_list)
        if decorated or _required(entry) <= fixtures:
            found.append(entry)
    return found


def _required(entry: FoundTest) -> frozenset[str]:
    arguments = entry.function.args
    named = [*arguments.posonlyargs, *arguments.args]
    required = named[: len(named) - len(arguments.defaults)]
    if entry.owner is not None:
        required = required[1:]
    return frozenset(argument.arg for argument in required)


def _test_part(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that only the tests use: test functions, fixtures, their tables."""
    entries = _own_functions(body)
    if not entries:
        return []
    roots = {id(entry.owner or entry.function) for entry in entries}
    inside = [
        node for node in body
        if id(node) in roots or (isinstance(node, Definition) and is_fixture(node))
    ]
    asserts = set(map(id, own_asserts(body)))
    names = {id(node): name_usage(node) for node in body}
    while True:
        used_inside = frozenset().union(*(names[id(node)].reads for node in inside))
        outside = [
            node for node in body
            if node not in inside and not is_main_guard(node) and id(node) not in asserts
        ]
        readers = Counter(name for node in outside for name in names[id(node)].reads)
        moved = [
            node for node in outside
            if names[id(node)].binds & used_inside
            and not is_import(node)
            and _serves_tests(node)
            and not any(
                readers[name] > (name in names[id(node)].reads) for name in names[id(node)].binds
            )
        ]
        if not moved:
            return sorted(inside, key=lambda node: node.lineno)
        inside += moved


def _serves_tests(node: ast.stmt) -> bool:
    """Whether it is a value or a function with checks; other functions are the program."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return not any(isinstance(inner, ast.Lambda) for inner in ast.walk(node))
    return isinstance(node, FunctionNode) and any(checks(statement) for statement in node.body)


def _functions(text: str, body: list[ast.stmt], entry: str) -> list[TestCase]:
    """The test functions in a pytest file in which every line keeps its number."""
    entries = _own_functions(body)
    if not entries:
        return []
    code = _test_file(text, body, entry)
    return [Script(name=e.node, origin="user", code=code, node=e.node, file=entry) for e in entries]


def _test_file(text: str, body: list[ast.stmt], entry: str) -> str:
    part = _test_part(body)
    reads = name_usage(*part).reads
    shown = [
        *part,
        *(node for node in body if is_import(node) and (
            is_future_import(node) or name_usage(node).binds & reads
        )),
    ]
    own = name_usage(*shown).binds
    imported = sorted(
        reads & frozenset(
            name for node in body if node not in shown for name in name_usage(node).binds
        ) - own
    )
    numbers = {line for node in shown for line in lines_of(node)}
    lines = [line if n in numbers else "" for n, line in enumerate(text.split("\n"), start=1)]
    code = "\n".join(lines)
    return with_line(code, import_line(entry, ", ".join(imported))) if imported else code
