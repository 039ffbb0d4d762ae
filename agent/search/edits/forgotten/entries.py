"""Adds missing entries to tables, alphabets and regular expressions.

New entries are strings of the failing tests that resemble the present entries. They become keys or
alternatives, and never a value that is returned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from agent.search.edits.calls import positional_arguments, replaced_call
from agent.search.edits.constants import quoted
from agent.search.program import Function, Program, Splice

MAX_KEYS, MAX_VALUES, MAX_PARTS = 6, 4, 40
_RUN = re.compile(r"[A-Z]+|[a-z]+|\d+|\s+|.", re.DOTALL)
_ALTERNATIVES = re.compile(r"(?<=[(|:>])(\w+(?:\|\w+)+)(?=\))")
_CLASS = re.compile(r"(?<!\\)\[\^?(?:\\.|[^\]\\])+(?=\])")
_KIND = re.compile(r"\\[wdsS](?![^\[]*\])")
_MARK = re.compile(r"(?<![\\(\[?])[ ,;:@#%&=/_'~-](?![^\[]*\])")
_COUNT = re.compile(r"(?<!\\)\{(\d+)(?:,(\d+))?\}")
_SINGLE = re.compile(r"\\[wdsS](?![^\[]*\]|[*+?{])")
_QUANTIFIER = re.compile(r"(?<![\\(?*+])[*+](?![?+*)])|(?<![\\(?*+])[*+](?=\))")
_QUOTED = re.compile(r"(['\"])\[\^\1\]([*+])\1")
_ENDS = re.compile(r"(?<!\\)(?=\))|\Z")
_RE_FUNCTIONS = frozenset({"compile", "match", "search", "fullmatch", "findall", "finditer", "sub",
                       "split", "subn"})
_HEADS = (r"\b", "^", r"(?<!\w)", r"(?<!\S)", "(?i)")
_TAILS = (r"\b", "$", r"(?!\w)", r"(?!\S)")


def entry(program: Program, node: ast.Dict | ast.List | ast.Tuple | ast.Set) -> Iterator[Splice]:
    """Adds an entry to a table, similar to the present ones."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pass
        case _:
            keys, values = [*node.elts], []
            if isinstance(program.parents.get(node), ast.Subscript | ast.Return):
                return
    texts = [one.value for one in keys if isinstance(one, ast.Constant)]
    known = [one for one in texts if isinstance(one, str)]
    if len(known) < 2 or len(known) != len(keys):
        return
    if isinstance(program.scope(node), Function) and not isinstance(
        program.parents.get(node), ast.Compare
    ):
        return
    last = values[-1] if values else keys[-1]
    assert last is not None and isinstance(keys[-1], ast.Constant)
    like = program.code(keys[-1])
    for place, word in enumerate(islice(words_like(program.words, known), MAX_KEYS)):
        key = quoted(word, like)
        cost = 2.4 + 0.1 * place
        if not values:
            yield _appended(program, node, last, key, cost)
        made = _values(program, values, known, word) if values else ()
        for far, value in enumerate(made):
            yield _appended(program, node, last, f"{key}: {value}", cost + 0.05 * far)


def affixes(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Tests for a further prefix or suffix, that of a word of a failing test."""
    match node:
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" as name), args=[given]):
            pass
        case _:
            return
    known = [*given.elts] if isinstance(given, ast.Tuple) else [given]
    texts = [one.value for one in known if isinstance(one, ast.Constant)]
    sizes = {len(one) for one in texts if isinstance(one, str)} - {0}
    if len(texts) != len(known) or not sizes:
        return
    starts = name == "startswith"
    found = dict.fromkeys(
        word[:size] if starts else word[-size:] for size in sorted(sizes) for word in program.words
        if len(word) > size
    )
    shown = [program.code(one) for one in known]
    for place, text in enumerate(islice((one for one in found if one not in texts), MAX_KEYS)):
        both = ", ".join([*shown, quoted(text, shown[0])])
        yield program.replace(given, f"({both})", 2.6 + 0.1 * place)


def _values(program: Program, values: list[ast.expr], keys: list[str], word: str) -> Iterator[str]:
    """Values for a new key: derived from the key, values of other keys, or parts of words."""
    codes = [program.code(one) for one in values]
    for key, code in zip(keys, codes, strict=True):
        if len(key) > 1 and key in code:
            yield code.replace(key, word)
    yield from sorted(dict.fromkeys(codes), key=lambda one: -codes.count(one))[:MAX_VALUES]
    constants = [one.value for one in values if isinstance(one, ast.Constant)]
    short = [one for one in constants if isinstance(one, str) and 0 < len(one) < 3]
    if short and len(short) == len(values):
        sizes = sorted({len(one) for one in short}, reverse=True)
        parts = dict.fromkeys(
            text[at : at + size] for text in program.words for size in sizes
            for at in range(len(text) - size + 1)
        )
        kinds = {_shape(one) for one in short}
        fit = (part for part in parts if _shape(part) in kinds and part not in keys)
        yield from (quoted(part, program.code(values[-1])) for part in islice(fit, MAX_PARTS))


def argument(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Adds a further string to a module-level call whose arguments are all strings."""
    known = [one.value for one in node.args if isinstance(one, ast.Constant)]
    texts = [one for one in known if isinstance(one, str)]
    parent = program.parents.get(node)
    if not texts or len(texts) != len(node.args) or node.keywords:
        return
    if program.is_in_function(node) and not isinstance(parent, Function | ast.ClassDef):
        return
    for place, word in enumerate(islice(words_like(program.words, texts), MAX_KEYS)):
        given = positional_arguments(program, node)
        given.append(quoted(word, given[-1]))
        yield replaced_call(program, node, given, [], 2.8 + 0.1 * place)


def alphabet(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Adds a character to a string in which characters are looked up."""
    parent, value = program.parents.get(node), node.value
    is_looked_up = (
        isinstance(parent, ast.Attribute) and parent.attr in ("index", "find", "count")
    ) or (isinstance(parent, ast.Compare) and node in parent.comparators)
    if not isinstance(value, str) or len(value) < 2 or not is_looked_up:
        return
    letters = dict.fromkeys(one for word in program.words for one in (word + word.lower()))
    kinds = {_shape(one) for one in value}
    fit = (one for one in letters if one not in value and _shape(one) in kinds)
    for place, one in enumerate(islice(fit, 3 * MAX_KEYS)):
        yield program.replace(node, quoted(value + one, program.code(node)), 2.8 + 0.02 * place)


def pattern(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Makes a regular expression slightly more general or more specific."""
    node_text, code = node.value, program.code(node)
    if not isinstance(node_text, str) or not _is_pattern(program, node):
        return
    if code.count(node_text) != 1:
        return
    offset = code.index(node_text)

    def put(start: int, end: int, text: str, cost: float) -> Splice:
        before = code[: offset + start]
        at = program.start(node) + len(before.encode())
        length = len(code[offset + start : offset + end].encode())
        return Splice(at, at + length, text, cost, node.lineno + before.count("\n"))

    delimiter = code[-1]
    for one in _ALTERNATIVES.finditer(node_text):
        words = words_like(program.words, one[0].split("|"))
        for place, word in enumerate(islice(words, MAX_KEYS)):
            yield put(one.end(), one.end(), f"|{re.escape(word)}", 2.4 + 0.1 * place)
    fresh = [
        one for one in dict.fromkeys("".join(program.words))
        if one not in node_text and one not in f"{delimiter}\\\n"
    ]
    marks = [one for one in fresh if not one.isalnum()][:MAX_KEYS]
    for mark in marks:
        shown = re.escape(mark) if mark in "]^-" else mark
        for one in _CLASS.finditer(node_text):
            yield put(one.end(), one.end(), shown, 2.8)
        for one in _MARK.finditer(node_text):
            yield put(one.start(), one.end(), f"[{shown}{one[0]}]", 3.0)
        for one in _KIND.finditer(node_text):
            yield put(one.start(), one.end(), f"[{one[0]}{shown}]", 3.0)
    for one in _QUOTED.finditer(node_text):
        text = f"{one[1]}(?:[^{one[1]}\\\\]|\\\\.){one[2]}{one[1]}"
        if code[:1] in "rR":
            yield put(one.start(), one.end(), text, 2.6)
    for head in _HEADS:
        yield put(0, 0, head, 3.0)
    for tail in _TAILS:
        yield put(len(node_text), len(node_text), tail, 3.0)
    if node_text.endswith("$"):
        yield put(len(node_text) - 1, len(node_text), r"\Z", 2.8)
    if re.search(r"\w.\Z", node_text, re.DOTALL):
        yield put(len(node_text) - 1, len(node_text), "", 3.4)
    for one in re.finditer(r" ", node_text):
        yield put(one.start(), one.end(), r"\s", 3.2)
    for one in _QUANTIFIER.finditer(node_text):
        other = "*" if one[0] == "+" else "+"
        yield put(one.start(), one.end(), other, 3.0)
        yield put(one.end(), one.end(), "?", 3.2)
    for one in _COUNT.finditer(node_text):
        least, most = int(one[1]), int(one[2] or one[1])
        for counts in ((1, most), (least, most + 1), (least - 1, most), (least + 1, most)):
            if 0 <= counts[0] <= counts[1] and counts != (least, most):
                yield put(one.start(), one.end(), f"{{{counts[0]},{counts[1]}}}", 3.0)
    for one in _SINGLE.finditer(node_text):
        yield put(one.end(), one.end(), "+", 3.2)
    for one in _ENDS.finditer(node_text):
        for letter in fresh[:MAX_KEYS]:
            yield put(one.start(), one.start(), f"{re.escape(letter)}?", 3.4)


def _is_pattern(program: Program, node: ast.Constant) -> bool:
    parent = program.parents.get(node)
    match parent:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *_]):
            if first is node and attr in _RE_FUNCTIONS:
                return True
    return bool(re.search(r"\\[dwsb]|\(\?", str(node.value)))


def words_like(words: Iterable[str], known: list[str]) -> Iterator[str]:
    """Words, or parts of them, with the shape of the known ones, without these."""
    shapes = {_shape(one) for one in known}
    sizes = {len(one) for one in known}
    seen = {*known}
    for word in words:
        parts = word if sizes == {1} else (word, *re.findall(r"\w+", word))
        for part in (form for one in parts for form in (one, one.lower())):
            alike = _shape(part) in shapes and (len(sizes) > 1 or len(part) in sizes)
            if alike and part not in seen:
                seen.add(part)
                yield part


def _shape(text: str) -> str:
    """The kinds of characters of a text, with runs of the same kind merged."""
    return "".join(
        "A" if run[0].isupper() else "a" if run[0].isalpha() and run[0].isascii() else
        "é" if run[0].isalpha() else "0" if run[0].isdigit() else run[0]
        for run in _RUN.findall(text)
    )


def _appended(program: Program, node: ast.expr, last: ast.expr, text: str, cost: float) -> Splice:
    """Adds an entry after the last one, on its own line if the last one has its own."""
    end = program.end(last)
    start = program.line_start(last.lineno)
    before = program.between(start, program.start(last))
    indent = before[: len(before) - len(before.lstrip())]
    gap = f",{program.newline}{indent}" if indent and last.lineno != node.lineno else ", "
    return Splice(end, end, gap + text, cost, last.lineno)
