"""Edits of the standard library's use: imports, and functions taken for one another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent.repair.program import Program, Splice

MEMBERS: dict[str, tuple[str, ...]] = {
    module: tuple(names.split())
    for module, names in {
        "math": "sqrt floor ceil gcd pi inf factorial log log2 log10 sin cos tan comb prod isqrt "
        "hypot fabs isclose perm lcm exp radians degrees atan2 tau nan isnan isinf dist fsum trunc",
        "collections": "Counter defaultdict deque OrderedDict namedtuple ChainMap",
        "itertools": "permutations combinations product chain accumulate groupby zip_longest "
        "cycle islice pairwise starmap takewhile dropwhile compress tee "
        "combinations_with_replacement filterfalse",
        "functools": "reduce lru_cache cache partial wraps cmp_to_key total_ordering "
        "cached_property",
        "typing": "List Dict Tuple Set Optional Any Union Callable Iterable Iterator Sequence "
        "Mapping NamedTuple Generator TypeVar",
        "heapq": "heappush heappop heapify nlargest nsmallest heapreplace heappushpop",
        "bisect": "bisect_left bisect_right insort insort_left insort_right",
        "string": "ascii_lowercase ascii_uppercase ascii_letters digits punctuation",
        "random": "randint choice shuffle sample randrange uniform",
        "datetime": "datetime timedelta date timezone",
        "copy": "deepcopy",
        "operator": "itemgetter attrgetter mul xor",
        "statistics": "mean median mode stdev pstdev fmean",
        "decimal": "Decimal ROUND_HALF_UP",
        "fractions": "Fraction",
        "dataclasses": "dataclass field",
        "enum": "Enum IntEnum auto",
        "pathlib": "Path",
        "abc": "ABC abstractmethod",
        "time": "sleep perf_counter monotonic",
        "contextlib": "contextmanager suppress",
        "json": "loads dumps",
        "textwrap": "dedent wrap indent",
        "io": "StringIO BytesIO",
        "hashlib": "md5 sha256 sha1",
        "calendar": "monthrange isleap",
    }.items()
}
"""What programs import from the modules of the standard library."""

STANDARD: dict[str, str] = {}
"""Which module a name is usually imported from."""
for _module, _names in MEMBERS.items():
    for _name in _names:
        STANDARD.setdefault(_name, _module)

FACTORIES = ("int", "list", "set", "dict", "str", "float")
"""What a `defaultdict` is made with."""

_FIELDS = (
    ("days", "seconds", "total_seconds()", "microseconds"),
    ("year", "month", "day", "hour", "minute", "second"),
    ("real", "imag"), ("numerator", "denominator"), ("start", "stop", "step"),
    ("stem", "name", "suffix", "parent"),
    ("ascii_lowercase", "ascii_uppercase", "ascii_letters", "digits", "punctuation"),
    ("inf", "pi", "e", "nan"),
)
FIELDS: dict[str, tuple[str, ...]] = {
    name: tuple(other for other in group if other != name) for group in _FIELDS for name in group
}
"""Attributes of the library's values that are mistaken for one another."""


def field(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Another attribute of a value of the library: `days` for `seconds`."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    if not isinstance(node.ctx, ast.Load) or node.attr not in FIELDS:
        return
    end = program.end(node)
    for place, other in enumerate(FIELDS.get(node.attr, ())):
        start = end - len(node.attr.encode())
        yield Splice(start, end, other, 2.4 + 0.1 * place, node.lineno)


def factory(program: Program, node: ast.Call) -> Iterator[Splice]:
    """What a `defaultdict` begins with, how many are most common, how a date is written."""
    match node:
        case ast.Call(func=ast.Name(id="defaultdict") | ast.Attribute(attr="defaultdict"),
                      args=[ast.Name() as made, *_]):
            for other in FACTORIES:
                if other != made.id:
                    yield program.replace(made, other, 2.0)
        case ast.Call(func=ast.Name(id="defaultdict") | ast.Attribute(attr="defaultdict"), args=[]):
            at = program.end(node) - 1
            for other in FACTORIES[:4]:
                yield Splice(at, at, other, 1.6, node.lineno)
        case ast.Call(func=ast.Attribute(attr="most_common"), args=[]):
            at = program.end(node) - 1
            yield Splice(at, at, "1", 2.4, node.lineno)


def own_default(program: Program, node: ast.Dict) -> Iterator[Splice]:
    """A dictionary that makes what it lacks, where a key was missing."""
    if node.keys or program.crash is None or program.crash.exception != "KeyError":
        return
    if not isinstance(program.parents.get(node), ast.Assign | ast.AnnAssign):
        return
    known = "defaultdict" in program.imported
    for made in FACTORIES[:4]:
        text = f"defaultdict({made})"
        if known:
            yield program.replace(node, text, 1.6)
        else:
            yield with_import(program, node, "from collections import defaultdict", text, 2.2)


def qualified(program: Program, node: ast.Name) -> Iterator[Splice]:
    """A name of an imported module without the module before it."""
    crash = program.crash
    if crash is None or crash.exception != "NameError" or f"'{node.id}'" not in crash.message:
        return
    for module in program.imported:
        if node.id in MEMBERS.get(module, ()):
            yield program.replace(node, f"{module}.{node.id}", 0.1)


def class_of_module(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """A module and its class of the same name taken for one another, as with `datetime`."""
    crash = program.crash
    if crash is None or crash.exception != "AttributeError" or not isinstance(node.value, ast.Name):
        return
    name = node.value.id
    match = re.search(r"(?:module|type object) '([\w.]+)' has no attribute '(\w+)'", crash.message)
    if match is None or match[2] != node.attr or name not in program.imported:
        return
    if crash.message.startswith("module") and name in MEMBERS.get(name, ()):
        yield program.replace(node.value, f"{name}.{name}", 0.4)
        for statement in program.tree.body:
            if isinstance(statement, ast.Import) and program.code(statement) == f"import {name}":
                start, end = program.start(statement), program.end(statement)
                yield Splice(start, end, f"from {name} import {name}", 0.5, node.lineno)
    elif name in MEMBERS and name == match[1].rpartition(".")[2]:
        for statement in program.tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == name:
                start, end = program.start(statement), program.end(statement)
                yield Splice(start, end, f"import {name}", 0.6, node.lineno)
    elif match[1] in MEMBERS and node.attr in MEMBERS[match[1]]:
        yield program.replace(node, node.attr, 1.0)


def import_place(program: Program) -> int:
    """Where an import may be added: after the docstring and `from __future__`."""
    at = 0
    if program.text.startswith("#!"):
        at = program.line_start(2)
    for statement in program.tree.body:
        is_doc = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_doc and not is_future:
            break
        at = program.whole_lines(statement)[1]
    return at


def with_import(
    program: Program, node: ast.expr, line: str, text: str, cost: float
) -> Splice:
    """An expression replaced, and the import it needs added above it."""
    at = import_place(program)
    between = program.between(at, program.start(node))
    return Splice(
        at, program.end(node), f"{line}{program.newline}{between}{program.fit(node, text)}", cost,
        node.lineno,
    )
