"""Signs that a program acts on its tests, and what each means.

A sign is the name of a rule. Those seen acting, at run time, take belief away from a pass; those
only written in the program's text lower it to `in-process`, and forbid a candidate that a search
or a model wrote.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

ACTING: dict[str, str] = {
    "frames": "it reads the frames of its callers",
    "collector": "it searches the memory by the garbage collector",
    "memory": "it reads or writes raw memory",
    "audit-hook": "it listens to what the interpreter does",
    "exchanged-code": "it exchanges the code of a function that is not its own",
    "test-source": "it opens the source of its tests",
    "expected-data": "it opens the data that its tests expect",
    "changed-runner": "pytest, unittest or the runner were changed",
    "tolerance": "what tests reckon by was made less exact",
    "changed-builtin": "a builtin was replaced",
    "changed-library": "a part of Python's library that its tests use was changed",
    "module-table": "it looks through the modules that are loaded, or puts others in their place",
    "planted-module": "a module with a library's name was planted",
    "control-flow": "it raises what a test framework steers by",
    "set-aside": "it changed what a test looks at that sets itself aside",
    "test-module": "it reads what stands in the module of its tests, or adds to it",
    "stop-iteration": "a StopIteration comes out of what is no iterator",
    "vanished": "what it gives its tests to derive from or to be run by keeps some from being run",
    "no-check": "the test passes without one completed check",
    "equal-to-all": "an object of it is equal to anything",
    "surroundings": "it passes only where it is tested, and not as another user or process, with "
    "other limits, folders or the usual files",
    "forged-word": "something else than the runner spoke to the judge",
    "ended-early": "the process ended in the midst of a run",
}
"""Signs seen at run time, in words that follow "not believed:"."""

WRITTEN: dict[str, str] = {
    "foreign-module": "it claims that its own code is a library's",
    "shadowed-name": "it has a name of its own for what the test takes from Python",
    "broad-alias": "it calls an exception that catches nearly all by a name of its own",
}
"""Signs in the program's text."""

_DEEP = (
    "f_locals", "f_globals", "f_lineno", "f_trace", "f_builtins", "co_consts", "co_code",
    "getargvalues", "getinnerframes", "getouterframes", "code_context", "getclosurevars",
)
"""What reads or changes a frame, in a program's text."""
_OWNER = "__self__"
"""The object of a method that was handed over, which weak references are made of too."""
_HELD = ("__globals__", "cell_contents")
"""What holds the names of a function that was handed over."""
_LINES = ("lineno", "stack_info", "filename", "pathname")
"""Where something was called, as warnings and records of `logging` hold it."""
_CALLERS = ("stacklevel", "stack_info")
"""What has them look at a caller."""
_STACKS = ("format_stack", "extract_stack", "print_stack", "walk_stack", "findCaller",
           "formatwarning")
"""What shows the lines of a caller."""
_RAW = ("py_object", "from_address", "memmove", "memset", "POINTER", "__array_interface__",
        "__array_struct__")
"""What makes something of an address, as `id` gives one."""
_HARMLESS = re.compile(r"""\bf_globals(?:\.get\(|\[)\s*["']__(?:name|file|package)__["']""")
"""Who called, as namedtuple asks for it: to say where a class comes from."""

EXPECTED_WORDS = ("expected", "golden", "snapshot", "answer", "truth")
"""Words in the names of files that hold what tests expect."""


def words(sign: str, detail: str = "") -> str:
    """What a sign means, for people."""
    said = ACTING.get(sign) or WRITTEN.get(sign) or sign
    return f"{said} ({detail})" if detail else said


HOOKS = frozenset(
    "sys os io signal select socket ssl threading warnings logging codecs locale".split()
)
"""Modules in which programs replace functions, honestly; of `time`, what waits."""
_MADE = frozenset("__init__ __new__ __del__ __repr__ __str__".split())
"""What programs may well change of a library's class."""


def uses(what: str, texts: str) -> bool:
    """Whether tests use a method, a setting or a table of Python's library, and do not set it."""
    owner, _, name = what.rpartition(".")
    root = owner.partition(".")[0]
    if what.startswith("logging._"):
        return "level" in texts or "caplog" in texts
    if root in HOOKS or name in _MADE:
        return False
    if name.endswith("__"):
        return True
    if name.startswith("_"):
        return re.search(rf"\b{root}\b", texts) is not None
    if re.search(rf"\b{name}\s*=[^=]|setattr\([^)]*\b{name}\b", texts):
        return False
    return f".{name}(" in texts or all(re.search(rf"\b{one}\b", texts) for one in (root, name))


def is_loosened(what: str, texts: str) -> bool:
    """Whether a tolerance that was made less exact counts: tests that name it may set it."""
    kind, _, name = what.rpartition(".")
    return name not in texts and (kind != "Decimal" or kind in texts)


_EQUALITY = (
    "__eq", "eq__", "__ne", "ne__", "type(", "setattr", "exec", "eval", "mock", "import_module",
    "__import__", "globals(", "__dict__", "vars(", "ctypes", "pickle", "marshal", "approx", "ANY",
)
"""What a text needs for an object that equals anything, by all ways that are known to us."""


def may_equal_anything(program: str) -> bool:
    """Whether an object of a program could be equal to anything at all."""
    return any(word in program for word in _EQUALITY)


@lru_cache(maxsize=1024)
def written_for(program: str, test: str, beside: bool) -> str:
    """What of a program's text lowers a pass of this test, in words; `beside` says that the
    test sees all names of the program."""
    stated, asked = _stated(program), _tree(test)
    if stated is None or asked is None:
        return ""
    if stated.claims_a_library:
        return WRITTEN["foreign-module"]
    broad = sorted(stated.broad & {
        getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(asked)
    })
    if broad:
        return f"{WRITTEN['broad-alias']} ({', '.join(broad[:3])})"
    shadowed = sorted(stated.bound & _meant(asked, beside))
    if shadowed:
        return f"{WRITTEN['shadowed-name']} ({', '.join(shadowed[:3])})"
    return ""


class _Stated(NamedTuple):
    """What of a program's text matters to any test."""

    claims_a_library: bool
    broad: set[str]
    bound: set[str]


@lru_cache(maxsize=64)
def _stated(program: str) -> _Stated | None:
    tree = _tree(program)
    if tree is None:
        return None
    return _Stated(any(map(_claims_a_library, ast.walk(tree))), _broad(tree), _bound(tree))


@lru_cache(maxsize=1024)
def reaching(program: str) -> str:
    """What in a program's text could reach into tests that share its process, in words.

    A pass that was seen from outside needs no such care: there was nothing to reach."""
    tree = _tree(_HARMLESS.sub(lambda asked: asked[0].replace("f_globals", "f_name"), program))
    if tree is None:
        return ""
    nodes = [*ast.walk(tree)]
    asks_callers = any(isinstance(one, ast.keyword) and one.arg in _CALLERS for one in nodes)
    addresses = any(isinstance(one, ast.Name) and one.id == "id" for one in nodes)
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if " " not in text and any(
                one in text for one in _DEEP
            ):
                return f"{ACTING['frames']} ({text})"
            case ast.Attribute(attr=name) if name in _DEEP or name in _HELD:
                return f"{ACTING['frames']} ({name})"
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if (
                name == _OWNER and "weakref" not in program
            ):
                return f"{ACTING['frames']} ({name})"
            case ast.Attribute(attr=name) if name in _LINES and asks_callers:
                return f"{ACTING['test-source']} (a caller's {name})"
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) if (
                name in _STACKS
            ):
                return f"{ACTING['test-source']} ({name})"
            case ast.Attribute(attr=name) | ast.alias(name=name) if name in _RAW and addresses:
                return f"{ACTING['memory']} ({name})"
            case ast.Raise(exc=ast.Name(id="StopIteration") | ast.Call(
                func=ast.Name(id="StopIteration")
            )) if "__next__" not in program:
                return ACTING["stop-iteration"]
            case ast.Constant(value="PYTEST_CURRENT_TEST"):
                return "it asks which test runs"
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="modules"), attr="values" | "items")
            ) | ast.For(iter=ast.Attribute(attr="modules")) | ast.comprehension(
                iter=ast.Attribute(attr="modules")
            ) | ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "dict"), args=[
                ast.Attribute(attr="modules")
            ]):
                return ACTING["module-table"]
    return ""


def introduced(before: str, after: str, tests: Iterable[str]) -> str:
    """What an edit brings into a program that only a forger needs, in words."""
    if reaching(after) and not reaching(before):
        return reaching(after)
    for test in dict.fromkeys(tests):
        sign = written_for(after, test, True)
        if sign and not written_for(before, test, True):
            return sign
    return ""


def _broad(tree: ast.Module) -> set[str]:
    """Names of a program's own for an exception that catches nearly all."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Tuple):
            named = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
            if named & _CATCH_ALL:
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


_CATCH_ALL = frozenset({"AssertionError", "Exception", "BaseException"})
_KNOWN = frozenset(
    "Decimal Fraction Path datetime date timedelta isclose approx pytest unittest Counter deque "
    "OrderedDict defaultdict".split()
)
"""Classes and functions of Python that a snippet means though it does not import them."""
_LIBRARIES = sys.stdlib_module_names | {"pytest", "numpy"}


@lru_cache(maxsize=2)
def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    except SystemError:  # a thread beside it was in the parser too, up to Python 3.12
        return _tree(text)


def _claims_a_library(node: ast.AST) -> bool:
    """`f.__module__ = "math"`; `functools.wraps` does as much honestly, without writing it."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(
            isinstance(target, ast.Attribute) and target.attr in ("__module__", "__class__")
            for target in targets
        )
    return False


def _bound(tree: ast.Module) -> set[str]:
    """Names that a program defines at its top."""
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


def _meant(test: ast.Module, beside: bool) -> set[str]:
    """Names that a test means as Python's or a library's, where the program's would be taken:
    it sees all of them, or imports them with a star."""
    star = any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        for node in ast.walk(test)
    )
    if not (star or beside):
        return set()
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(test)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in _LIBRARIES
    } | (_KNOWN if beside else set())
    used = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    python = {name for name in used if hasattr(builtins, name)}
    if beside and python == used:
        return imported  # a test of the program's own `sum`, say, and of nothing else
    return (python | imported) & used
