"""Edits of names: variables, attributes, functions and methods mistaken for one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.constants import together
from agent.repair.program import BUILTINS, SEQUENCES, Function, Program, Splice


def _groups(*lines: str) -> dict[str, tuple[str, ...]]:
    """Each word of a line leads to the others."""
    table: dict[str, tuple[str, ...]] = {}
    for line in lines:
        words = line.split()
        for word in words:
            others = tuple(other for other in words if other != word)
            known = table.get(word, ())
            table[word] = (*known, *(other for other in others if other not in known))
    return table


FUNCTION_SIBLINGS = _groups(
    "min max", "any all", "sum len", "sum max", "sum min", "sorted list", "sorted reversed",
    "list set", "list tuple", "set sorted", "int float", "int str", "int round", "str repr",
    "abs int", "range enumerate", "zip enumerate", "ord chr", "bin hex oct", "ceil floor",
    "map filter", "isinstance issubclass", "heappush heappop", "bisect_left bisect_right",
    "len max", "round float", "str list", "ord int", "bin int", "divmod pow", "set tuple",
    "combinations permutations combinations_with_replacement product", "nsmallest nlargest",
    "insort_left insort_right", "loads dumps", "takewhile dropwhile", "mean median mode",
    "stdev pstdev", "heappushpop heapreplace", "dict set", "frozenset set", "zip zip_longest",
    "Counter set", "Counter defaultdict", "gcd lcm", "repr ascii", "all sum", "getattr hasattr",
    "islice takewhile", "deepcopy copy", "chain zip", "sum prod", "isqrt sqrt", "log log2 log10",
)
METHOD_SIBLINGS = _groups(
    "append extend add", "append insert", "append remove", "append appendleft", "add discard",
    "add update", "pop popleft", "pop remove", "upper lower swapcase capitalize title",
    "startswith endswith", "find rfind index rindex count", "strip lstrip rstrip",
    "split rsplit splitlines", "keys values items", "isdigit isalpha isalnum isnumeric",
    "isupper islower isalpha", "sort reverse", "union intersection difference "
    "symmetric_difference", "remove discard pop", "ceil floor", "sqrt floor", "get pop",
    "get setdefault", "replace strip", "join split", "bisect_left bisect_right",
    "update add", "randint randrange", "isspace isalnum", "read readline readlines",
    "ljust rjust center zfill", "partition rpartition", "dumps dump", "loads load",
    "heappush heappop", "issubset issuperset", "match search fullmatch", "search findall finditer",
    "strftime strptime", "nsmallest nlargest", "combinations permutations product",
    "combinations combinations_with_replacement", "insort_left insort_right", "log log2 log10",
    "sin cos tan", "comb perm", "gcd lcm", "mean median mode", "stdev pstdev", "date time",
    "sub subn", "weekday isoweekday", "sort sorted", "insert append", "intersection_update "
    "intersection", "difference_update difference", "lower casefold", "isdecimal isdigit",
    "removeprefix removesuffix lstrip rstrip", "choice sample shuffle", "floor trunc",
    "takewhile dropwhile", "now today utcnow", "appendleft append", "extendleft extend",
    "heappushpop heapreplace", "most_common elements", "fsum sum", "isqrt sqrt", "copy deepcopy",
)


def variable(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Another variable that can be read here."""
    if not isinstance(node.ctx, ast.Load) or _is_function(program, node):
        return
    own = program.seen(node.id)
    for name in program.variables(node):
        if name == node.id:
            continue
        seen = program.seen(name)
        cost = 3.0 if not seen or not own or seen & own else 4.5
        if not program.reads.get(name):
            cost -= 0.8  # written and never read: likely what was meant
        yield program.replace(node, name, cost)


def target(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Another variable to assign to."""
    if isinstance(node.ctx, ast.Store):
        for name in program.variables(node):
            if name != node.id:
                alike = program.seen(name) & program.seen(node.id)
                yield program.replace(node, name, 4.0 if alike else 4.5)


def renamed(program: Program, node: Function) -> Iterator[Splice]:
    """One variable read everywhere in a function in place of another."""
    places: dict[str, list[ast.Name]] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id not in BUILTINS and inner not in program.hidden:
            places.setdefault(inner.id, []).append(inner)
    for name, found in places.items():
        loads = [one for one in found if isinstance(one.ctx, ast.Load)]
        if len(loads) < 2 or _is_function(program, loads[0]):
            continue
        for other in program.variables(node.body[0]):
            if other != name:
                edits = [(program.start(one), program.end(one), other) for one in loads]
                yield together(program, edits, 4.4, loads[0].lineno)


def function(program: Program, node: ast.Name) -> Iterator[Splice]:
    """A function's sibling: `min` for `max`."""
    if isinstance(node.ctx, ast.Load):
        for sibling in FUNCTION_SIBLINGS.get(node.id, ()):
            yield program.replace(node, sibling, 2.5)
        if node.id in program.functions and _is_function(program, node):
            for other in program.callables(node):
                if other != node.id:
                    yield program.replace(node, other, 3.5)


def method(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """A method's sibling: `upper` for `lower`."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        for sibling in METHOD_SIBLINGS.get(node.attr, ()):
            yield attribute_name(program, node, sibling, 2.5)


def attribute(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Another attribute, or the object itself."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    for other in program.attributes:
        if other != node.attr:
            yield attribute_name(program, node, other, 2.5)
    if isinstance(node.ctx, ast.Load):
        yield program.replace(node, program.code(node.value), 4.0)


def attribute_of(program: Program, node: ast.Name) -> Iterator[Splice]:
    """An attribute of the object in place of the object."""
    if not isinstance(node.ctx, ast.Load) or _is_function(program, node):
        return
    if isinstance(program.parents.get(node), ast.Attribute):
        return
    plain = {"int", "float", "str", "list", "tuple", "dict", "set", "bool", "NoneType"}
    seen = program.seen(node.id)
    if seen and not seen - plain:
        return
    for name in program.attributes:
        yield program.replace(node, f"{node.id}.{name}", 4.5)


def element_of(program: Program, node: ast.Name) -> Iterator[Splice]:
    """An element or a part of a sequence in place of a variable."""
    if not isinstance(node.ctx, ast.Load) or _is_function(program, node):
        return
    parent = program.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return
    own = program.seen(node.id)
    variables = program.variables(node)
    counts = [name for name in variables if "int" in program.seen(name)]
    if not own or own & SEQUENCES:
        cost = 4.6 if own else 5.6
        for part in ("1:", ":-1", "::-1"):
            yield program.replace(node, f"{node.id}[{part}]", cost)
        for name in counts:
            for part in (f"{name}:", f":{name}", f"{name} + 1:", f":{name} + 1"):
                yield program.replace(node, f"{node.id}[{part}]", cost + 0.3)
    if isinstance(parent, ast.For):
        return
    indices = [*counts, "0", "-1", *(f"{n} - 1" for n in counts), *(f"{n} + 1" for n in counts)]
    for name in variables:
        if program.seen(name) & SEQUENCES:
            for index in indices:
                if index != name:
                    yield program.replace(node, f"{name}[{index}]", 5.4)
        if "dict" in program.seen(name):
            for key in variables:
                if key != name:
                    yield program.replace(node, f"{name}[{key}]", 5.6)


def attribute_name(program: Program, node: ast.Attribute, name: str, cost: float) -> Splice:
    """Only the attribute's name changed."""
    end = program.end(node)
    return Splice(end - len(node.attr.encode()), end, name, cost, node.end_lineno or node.lineno)


def _is_function(program: Program, node: ast.Name) -> bool:
    """Whether a name stands for a function, a class or a module."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return True
    return node.id in program.functions or node.id in program.imported or (
        node.id in BUILTINS and node.id not in program.variables(node)
    )
