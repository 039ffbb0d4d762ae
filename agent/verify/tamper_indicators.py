"""Tamper indicators: rules that detect a program acting on its tests, and their messages.

A pass with an indicator observed at run time is not believed. An indicator found in the program's
text lowers a pass to `in-process`, and excludes candidates of a search or a model.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

RUNTIME_INDICATORS: dict[str, str] = {
    "frames": "it reads the frames of its callers",
    "collector": "it searches the objects in memory through the garbage collector",
    "memory": "it reads or writes raw memory",
    "audit-hook": "it installs an audit hook",
    "replaced-code": "it replaces the code of a function that is not its own",
    "test-source": "it opens the source of its tests",
    "expected-data": "it opens the data that its tests expect",
    "changed-runner": "pytest, unittest or the test runner was changed",
    "tolerance": "a tolerance of the tests was loosened",
    "changed-builtin": "a builtin was replaced",
    "changed-library": "a part of the standard library that its tests use was changed",
    "module-table": "it enumerates or replaces the loaded modules",
    "planted-module": "a module with a library's name was planted",
    "control-flow": "it raises control-flow exceptions of a test framework",
    "changed-skip": "it changed a condition on which a test is skipped",
    "test-module": "it reads values from the module of its tests, or adds to it",
    "stop-iteration": "it raises StopIteration outside of an iterator",
    "vanished": "its base classes or hooks prevent some tests from running",
    "no-check": "the test passes without one completed check",
    "equal-to-all": "one of its objects is equal to anything",
    "environment": "it fails in another environment: another user, process, folder, time or limits",
    "forged-message": "the judge received a message that is not from the runner",
    "ended-early": "the process ended before all tests ran",
}
"""Indicators observed at run time, with messages that follow "not believed:"."""

TEXT_INDICATORS: dict[str, str] = {
    "foreign-module": "it claims that its own code is a library's",
    "shadowed-name": "it redefines a name that the test takes from Python",
    "broad-alias": "it renames an exception that catches nearly everything",
}
"""Indicators in the program's text."""

_FRAME_NAMES = (
    "f_locals", "f_globals", "f_lineno", "f_trace", "f_builtins", "co_consts", "co_code",
    "getargvalues", "getinnerframes", "getouterframes", "code_context", "getclosurevars",
)
_OWNER = "__self__"
"""The object of a bound method; weak references use it too."""
_FUNCTION_NAMESPACES = ("__globals__", "cell_contents")
_CALL_SITES = ("lineno", "stack_info", "filename", "pathname")
"""Attributes with the place of a call, of warnings and records of `logging`."""
_CALLERS = ("stacklevel", "stack_info")
"""Keyword arguments that make warnings and log records describe a caller."""
_STACKS = ("format_stack", "extract_stack", "print_stack", "walk_stack", "findCaller",
           "formatwarning")
_RAW = ("py_object", "from_address", "memmove", "memset", "POINTER", "__array_interface__",
        "__array_struct__")
"""Names that access memory by an address, as `id` returns one."""
_HARMLESS = re.compile(r"""\bf_globals(?:\.get\(|\[)\s*["']__(?:name|file|package)__["']""")
"""Reads only the caller's module, as `namedtuple` does."""

EXPECTED_WORDS = ("expected", "golden", "snapshot", "answer", "truth")
"""Words in the names of files that hold expected values."""


def message_of(rule: str, detail: str = "") -> str:
    message = RUNTIME_INDICATORS.get(rule) or TEXT_INDICATORS.get(rule) or rule
    return f"{message} ({detail})" if detail else message


HOOKS = frozenset(
    "sys os io signal select socket ssl threading warnings logging codecs locale".split()
)
"""Modules in which honest programs replace functions."""
_REPLACEABLE = frozenset("__init__ __new__ __del__ __repr__ __str__".split())
"""Methods of library classes that honest programs replace."""


def uses(what: str, texts: str) -> bool:
    """Whether tests use a part of the standard library without setting it themselves."""
    owner, _, name = what.rpartition(".")
    root = owner.partition(".")[0]
    if what.startswith("logging._"):
        return "level" in texts or "caplog" in texts
    if root in HOOKS or name in _REPLACEABLE:
        return False
    if name.endswith("__"):
        return True
    if name.startswith("_"):
        return re.search(rf"\b{root}\b", texts) is not None
    if re.search(rf"\b{name}\s*=[^=]|setattr\([^)]*\b{name}\b", texts):
        return False
    return f".{name}(" in texts or all(re.search(rf"\b{one}\b", texts) for one in (root, name))


def is_loosened(what: str, texts: str) -> bool:
    """Whether a loosened tolerance counts: not if the tests name it, since they may set it."""
    kind, _, name = what.rpartition(".")
    return name not in texts and (kind != "Decimal" or kind in texts)


_EQUALITY = (
    "__eq", "eq__", "__ne", "ne__", "type(", "setattr", "exec", "eval", "mock", "import_module",
    "__import__", "globals(", "__dict__", "vars(", "ctypes", "pickle", "marshal", "approx", "ANY",
)
"""A program needs one of these words to make an object that equals anything."""


def may_equal_anything(program: str) -> bool:
    return any(word in program for word in _EQUALITY)


@lru_cache(maxsize=1024)
def text_indicator(program: str, test: str, is_snippet: bool) -> str:
    """The message of the indicator in a program's text that lowers a pass of this test, or "".

    `is_snippet` says that the test is a snippet, which sees all names of the program.
    """
    found, tree = _indications(program), _tree(test)
    if found is None or tree is None:
        return ""
    if found.fakes_library:
        return TEXT_INDICATORS["foreign-module"]
    broad = sorted(found.broad & {
        getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)
    })
    if broad:
        return f"{TEXT_INDICATORS['broad-alias']} ({', '.join(broad[:3])})"
    shadowed = sorted(found.bound & _library_names(tree, is_snippet))
    if shadowed:
        return f"{TEXT_INDICATORS['shadowed-name']} ({', '.join(shadowed[:3])})"
    return ""


class _Indications(NamedTuple):
    """The findings in a program's text that do not depend on a test."""

    fakes_library: bool
    broad: set[str]
    bound: set[str]


@lru_cache(maxsize=64)
def _indications(program: str) -> _Indications | None:
    tree = _tree(program)
    if tree is None:
        return None
    return _Indications(any(map(_fakes_library, ast.walk(tree))), _broad(tree), _bound(tree))


@lru_cache(maxsize=1024)
def reaching_code(program: str) -> str:
    """The message of code in a program that could reach into tests in its process, or ""."""
    tree = _tree(_HARMLESS.sub(lambda match: match[0].replace("f_globals", "f_name"), program))
    if tree is None:
        return ""
    nodes = [*ast.walk(tree)]
    asks_callers = any(isinstance(node, ast.keyword) and node.arg in _CALLERS for node in nodes)
    addresses = any(isinstance(node, ast.Name) and node.id == "id" for node in nodes)
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if " " not in text and any(
                one in text for one in _FRAME_NAMES
            ):
                return f"{RUNTIME_INDICATORS['frames']} ({text})"
            case ast.Attribute(attr=name) if name in _FRAME_NAMES + _FUNCTION_NAMESPACES:
                return f"{RUNTIME_INDICATORS['frames']} ({name})"
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if (
                name == _OWNER and "weakref" not in program
            ):
                return f"{RUNTIME_INDICATORS['frames']} ({name})"
            case ast.Attribute(attr=name) if name in _CALL_SITES and asks_callers:
                return f"{RUNTIME_INDICATORS['test-source']} (a caller's {name})"
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) if (
                name in _STACKS
            ):
                return f"{RUNTIME_INDICATORS['test-source']} ({name})"
            case ast.Attribute(attr=name) | ast.alias(name=name) if name in _RAW and addresses:
                return f"{RUNTIME_INDICATORS['memory']} ({name})"
            case ast.Raise(exc=ast.Name(id="StopIteration") | ast.Call(
                func=ast.Name(id="StopIteration")
            )) if "__next__" not in program:
                return RUNTIME_INDICATORS["stop-iteration"]
            case ast.Constant(value="PYTEST_CURRENT_TEST"):
                return "it reads the name of the running test"
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="modules"), attr="values" | "items")
            ) | ast.For(iter=ast.Attribute(attr="modules")) | ast.comprehension(
                iter=ast.Attribute(attr="modules")
            ) | ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "dict"), args=[
                ast.Attribute(attr="modules")
            ]):
                return RUNTIME_INDICATORS["module-table"]
    return ""


def introduced_indicator(before: str, after: str, tests: Iterable[str]) -> str:
    """The message of a tamper indicator that an edit adds to a program, or ""."""
    if reaching_code(after) and not reaching_code(before):
        return reaching_code(after)
    for test in dict.fromkeys(tests):
        message = text_indicator(after, test, True)
        if message and not text_indicator(before, test, True):
            return message
    return ""


def _broad(tree: ast.Module) -> set[str]:
    """A program's own names for exceptions that catch nearly everything."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Tuple):
            named = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
            if named & _CATCH_ALL:
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


_CATCH_ALL = frozenset({"AssertionError", "Exception", "BaseException"})
_SNIPPET_LIBRARY_NAMES = frozenset(
    "Decimal Fraction Path datetime date timedelta isclose approx pytest unittest Counter deque "
    "OrderedDict defaultdict".split()
)
"""Library names that a snippet may use without importing them."""
_LIBRARIES = sys.stdlib_module_names | {"pytest", "numpy"}


@lru_cache(maxsize=2)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    except SystemError:  # another thread was in the parser too, up to Python 3.12
        return _tree(text)


def _fakes_library(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(
            isinstance(target, ast.Attribute) and target.attr in ("__module__", "__class__")
            for target in targets
        )
    return False


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(
                name=name
            ):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _library_names(test: ast.Module, is_snippet: bool) -> set[str]:
    """Names of Python or libraries in a test that names of the program could shadow.

    Only snippets and tests with a star import can have such names.
    """
    star = any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        for node in ast.walk(test)
    )
    if not (star or is_snippet):
        return set()
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(test)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in _LIBRARIES
    } | (_SNIPPET_LIBRARY_NAMES if is_snippet else set())
    used = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    python = {name for name in used if hasattr(builtins, name)}
    if is_snippet and python == used:
        return imported  # a test of the program's own `sum`, for example
    return (python | imported) & used
