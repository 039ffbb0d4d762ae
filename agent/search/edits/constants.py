"""Edits of constants. No new constant is taken from a test."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterator

from agent.search.edits.library import TEXTS
from agent.search.evidence import literal_values
from agent.search.program import NUMBERS, SEQUENCES, Function, Program, Splice

NEUTRAL = ("None", "0", "[]", "''", "False", "True")
"""Values that an early exit may return."""
_ALPHABETS = ("aeiouy", "AEIOUY", "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEF", "abcdef")
_FIELD = re.compile(r"\{(\w+)[^{}]*\}")
_DIRECTIVE = re.compile(r"%[A-Za-z]")
_SPEC = re.compile(
    r":(?P<width>[<>^]?0?\d*)(?P<separator>,?)(?P<decimals>(?:\.\d)?)(?P<kind>[fd%]?)\}"
)
_SWAPPED_CASE = {"m": "M", "M": "m", "d": "D", "y": "Y", "Y": "y", "h": "H", "H": "I", "I": "H",
                 "s": "S", "S": "s", "b": "B", "B": "b", "a": "A", "A": "a"}
MIN_SIMILARITY = 0.75
"""Least `difflib` ratio at which two constants count as similar."""


def number(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Replaces a number by a neighbouring, common or scaled one, or by a variable."""
    value = node.value
    if type(value) not in (int, float) or node in program.fixed_nodes:
        return
    assert isinstance(value, int | float)
    parent = program.parents.get(node)
    indexes = is_indexing(parent)
    for near in (value + 1, value - 1):
        unlikely = near < 0 <= value and not isinstance(parent, ast.Assign)
        yield program.replace(node, repr(near), (1.8 if indexes else 2.0) + 0.9 * unlikely)
    for common in (0, 1, -1, 2, -value, 3, 10):
        far = 0.5 * (common not in (0, 1) and abs(value - common) > 10)
        yield program.replace(node, repr(common), 2.8 + far)
    for near in (value + 2, value - 2):
        yield program.replace(node, repr(near), 3.4)
    for other in (*program.constants(node, int), *program.constants(node, float)):
        yield program.replace(node, repr(other), 3.3)
    if value:
        half = value / 2 if isinstance(value, float) else value // 2
        tenth = value / 10 if isinstance(value, float) else value // 10
        for scaled in (value * 2, half, value * 10, tenth):
            yield program.replace(node, repr(scaled), 4.0)
        if isinstance(value, float) and abs(value) < 1:
            yield program.replace(node, repr(round(1 / value, 9)), 3.0)
    if value in (0, 1, -1):
        for text in ("float('inf')", "float('-inf')"):
            yield program.replace(node, text, 4.2)
    for name in program.variables(node):
        types = program.observed_types(name)
        if not types or types & NUMBERS:
            yield program.replace(node, name, 3.8)
        if types & (SEQUENCES | {"dict", "set"}):
            yield program.replace(node, f"len({name})", 4.6)
            if isinstance(parent, ast.Assign | ast.Return) and types & SEQUENCES:
                yield program.replace(node, f"{name}[0]", 4.4)
    if isinstance(parent, ast.Assign | ast.Return | ast.Call):
        for neutral in ("True", "False", "None", "''", "[]"):
            yield program.replace(node, neutral, 4.2)


def truth(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Replaces `True` or `False` by the other, a neutral value or a variable."""
    if not isinstance(node.value, bool):
        return
    yield program.replace(node, repr(not node.value), 1.5)
    for neutral in ("None", "0", "1"):
        yield program.replace(node, neutral, 4.2)
    for name in program.variables(node):
        yield program.replace(node, name, 4.2)
        if isinstance(program.parents.get(node), ast.Return | ast.Assign):
            yield program.replace(node, f"not {name}", 4.4)


def string(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Changes a string slightly, or replaces it by another string of the program."""
    value = node.value
    if not isinstance(value, str) or node in program.fixed_nodes:
        return

    def put(text: str, cost: float) -> Splice:
        return program.replace(node, quoted(text, program.code(node)), cost)

    for other in TEXTS.get(value, ()):
        yield put(other, 2.8)
    for other in ("", " ", value.strip(), value.lower(), value.upper()):
        yield put(other, 3.2)
    words = [str(text) for text in program.constants(node, str)]
    alike = difflib.get_close_matches(value, words, 2, MIN_SIMILARITY) if len(value) > 3 else []
    for text in words:
        yield put(text, 2.2 if text in alike and text != value else 3.0)
    for other in (
        value + value.upper(), value + value.lower(), value[::-1], value + " ", " " + value,
        value[:-1], value[1:], value.title(), value.capitalize(), value + "\n", value + value,
        ", ", ",", "-", "_", "0", "1", ".", "\n",
    ):
        yield put(other, 4.0)
    for name in program.variables(node):
        if program.may_be(name, frozenset({"str"})):
            yield program.replace(node, name, 4.2)
    if 3 <= len(value) <= 40:
        for alphabet in _ALPHABETS:
            if sum(letter in value for letter in alphabet) >= len(alphabet) / 2:
                for letter in alphabet:
                    if letter not in value:
                        yield put(value + letter, 4.2)
        for index in range(len(value)):
            yield put(value[:index] + value[index + 1 :], 4.4)
        for index in range(len(value) - 1):
            swapped = value[:index] + value[index + 1] + value[index] + value[index + 2 :]
            yield put(swapped, 4.6)


def swapped_booleans(program: Program, node: Function) -> Iterator[Splice]:
    """Swaps `True` and `False` in all returns, or also in all assignments."""
    for inside in ((ast.Return,), (ast.Return, ast.Assign)):
        places = [
            one for one in ast.walk(node) if isinstance(one, ast.Constant)
            and isinstance(one.value, bool) and isinstance(program.parents.get(one), inside)
        ]
        if len({one.value for one in places}) == 2:
            edits = [(program.start(one), program.end(one), repr(not one.value)) for one in places]
            yield combined(program, edits, 2.6, places[0].lineno)


def respelled_returns(program: Program, node: Function) -> Iterator[Splice]:
    """Changes the case or surrounding blanks of all strings that a function returns."""
    places = [
        (one.value, one) for statement in ast.walk(node) if isinstance(statement, ast.Return)
        for one in ast.walk(statement)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
        and one not in program.fixed_nodes
        and isinstance(program.parents.get(one), ast.Return | ast.IfExp)
    ]
    if len(places) < 2:
        return
    line = places[0][1].lineno
    for change in (str.capitalize, str.upper, str.lower, str.title, str.strip, str.swapcase):
        groups: dict[str, list[tuple[int, int, str]]] = {}
        for value, one in places:
            new = quoted(change(value), program.code(one))
            groups.setdefault(value, []).append((program.start(one), program.end(one), new))
        yield combined(program, [one for group in groups.values() for one in group], 2.8, line)
        for group in groups.values():
            if len(group) > 1:
                yield combined(program, group, 3.2, line)


def comma(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Adds a comma between adjacent strings that are concatenated implicitly."""
    if not isinstance(node.value, str) or node in program.fixed_nodes:
        return
    parent = program.parents.get(node)
    if not isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Call):
        return
    text = program.code(node)
    if text.count("'") + text.count('"') < 4:
        return
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(f"({text})").readline)]
    except (tokenize.TokenError, SyntaxError):
        return
    offset = 0
    rows = [0]
    for row in f"({text})".splitlines(keepends=True):
        offset += len(row.encode())
        rows.append(offset)
    strings = [one for one in tokens if one.type == tokenize.STRING]
    shown = f"({text})".splitlines()
    for one in strings[:-1]:
        line, column = one.end
        at = program.start(node) + rows[line - 1] + len(shown[line - 1][:column].encode()) - 1
        yield Splice(at, at, ",", 1.6, node.lineno)


def f_prefix(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Adds a forgotten `f` before a string with a variable in braces."""
    if not isinstance(node.value, str) or node in program.fixed_nodes or "{" not in node.value:
        return
    names = {match[1] for match in _FIELD.finditer(node.value)}
    text = program.code(node)
    if names & {*program.variables(node)} and text[:1] in "'\"":
        at = program.start(node)
        yield Splice(at, at, "f", 1.2, node.lineno)


def number_format(program: Program, node: ast.JoinedStr) -> Iterator[Splice]:
    """Changes the thousands separator or the number of decimals of a format specification."""
    text = program.code(node)
    for found in _SPEC.finditer(text):
        separator, decimals = found["separator"], found["decimals"]
        others = [("" if separator else ",", decimals)]
        if decimals and not found["kind"]:
            new = f"{text[: found.end() - 1]}f{text[found.end() - 1:]}"
            yield program.replace(node, new, 1.2)
        if decimals:
            count = int(decimals[1:])
            others += [(separator, f".{one}") for one in (count + 1, count - 1, 2, 0) if one >= 0]
        for other in dict.fromkeys(others):
            if other != (separator, decimals):
                new = f":{found['width']}{''.join(other)}{found['kind']}}}"
                yield program.replace(node, text[: found.start()] + new + text[found.end() :], 1.6)


def date_format(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Swaps two directives of a date format, or changes the case of one."""
    value = node.value
    if not isinstance(value, str) or node in program.fixed_nodes:
        return
    found = [*_DIRECTIVE.finditer(value)]
    text = program.code(node)
    inner = [*_DIRECTIVE.finditer(text)]
    if not found or len(found) != len(inner):
        return

    def put(first: int, last: int, new: str, cost: float) -> Splice:
        return program.replace(node, text[:first] + new + text[last:], cost)

    for place, one in enumerate(inner):
        other = _SWAPPED_CASE.get(one[0][1:])
        if other:
            yield put(one.start(), one.end(), f"%{other}", 2.6)
        for later in inner[place + 1 :]:
            between = text[one.end() : later.start()]
            yield put(one.start(), later.end(), later[0] + between + one[0], 2.6)


def observed_key(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Replaces a key by one that a dictionary had at runtime, or a string by one of the tests."""
    value = node.value
    if not isinstance(value, str) or node in program.fixed_nodes:
        return
    parent = program.parents.get(node)
    if isinstance(parent, ast.Subscript) or (
        isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in ("get", "pop", "setdefault")
    ):
        keys: dict[str, None] = {}
        for moment in program.moments(program.statement(node).lineno):
            for value_then in literal_values(moment).values():
                nested = value_then if isinstance(value_then, list | tuple) else ()
                for one in (value_then, *nested):
                    if isinstance(one, dict):
                        keys.update(dict.fromkeys(k for k in one if isinstance(k, str)))
        for place, name in enumerate([name for name in keys if name != value][:8]):
            near = difflib.SequenceMatcher(None, name, value).ratio()
            cost = (2.2 if near >= MIN_SIMILARITY else 3.0) + 0.1 * place
            yield program.replace(node, quoted(name, program.code(node)), cost)
    elif (
        isinstance(parent, ast.Compare | ast.List | ast.Tuple | ast.Set | ast.Dict)
        and len(value) > 3 and value not in program.words
    ):
        for word in difflib.get_close_matches(value, program.words, 2, MIN_SIMILARITY):
            yield program.replace(node, quoted(word, program.code(node)), 2.4)


def combined(
    program: Program, replacements: list[tuple[int, int, str]], cost: float, line: int
) -> Splice:
    """Combines replacements (start, end, text) into one splice from the first to the last."""
    replacements = sorted(replacements)
    first, last = replacements[0][0], replacements[-1][1]
    text, at = "", first
    for start, end, new in replacements:
        text += program.between(at, start) + new
        at = end
    return Splice(first, last, text, cost, line)


def quoted(text: str, like: str) -> str:
    """A string literal with the quotes of the literal it replaces."""
    shown = repr(text)
    if like[:1] == '"' and like[:3] != '"""' and "'" not in text and '"' not in text:
        return f'"{shown[1:-1]}"'
    return shown


def is_indexing(parent: ast.AST | None) -> bool:
    """Whether a node's direct children are indices or bounds."""
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return parent.func.id == "range"
    return isinstance(parent, ast.Subscript | ast.Slice)
