"""Mends text that does not compile: a beam search over small edits near the error.

An edit is good if the text then compiles, or if the first error moves on. Each rule
proposes (cost, whole text); the cheapest are tried first.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""[A-Za-z_]\w*|\d+\.?\d*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
    r"""|===|!==|\*\*=?|//=?|==|!=|<=|>=|<>|&&|\|\||\+\+|--|[-+*/%&|^]=|->|=>|<<|>>|:=|\S"""
)
_OPENERS = ("if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally",
            "with", "async", "match", "case")
_ANOTHER: tuple[tuple[str, str], ...] = (
    ("&&", "and"), ("||", "or"), ("=", "=="), ("==", "="), ("!", "not "), ("++", "+= 1"),
    ("--", "-= 1"), ("=>", ":"), ("->", ":"), (";", ""), ("{", ":"), ("}", ""), ("then", ":"),
    ("null", "None"), ("true", "True"), ("false", "False"), ("function", "def"), ("func", "def"),
    ("fn", "def"), ("let", ""), ("var", ""), ("const", ""), ("int", ""), ("//", "#"),
    ("switch", "match"), ("foreach", "for"), ("do", ""), ("new", ""), ("xor", "^"), ("<>", "!="),
    ("===", "=="), ("!==", "!="), (",", ":"), (":", ","), (".", ","), (",", "."), (";", ":"),
    (":", "="), ("=", ":"), ("elseif", "elif"), ("elsif", "elif"), ("(", "["), ("[", "("),
    (")", "]"), ("]", ")"), (")", "}"), ("}", ")"), ("(", "{"), ("{", "("), ("]", "}"),
    ("}", "]"), ("[", "{"), ("{", "["), ("(", ""), (")", ""), ("]", ""), ("[", ""),
    ('"', "'"), ("'", '"'), ("<-", "="), (":=", "="), ("print", "print("), ("async", ""),
)
"""A token, and what was meant: other languages' words, neighbours on the keyboard."""
_TYPOGRAPHY: dict[str, str | int | None] = {
    "\u00a0": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-",
    "\u2014": "-", "\u2212": "-", "\u00d7": "*", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=",
    "\ufeff": "", "\u200b": "", "\uff08": "(", "\uff09": ")", "\uff0c": ",", "\uff1a": ":",
}
_BEAM = 6
_DEPTH = 5
_KEPT = 40
_SHIFTED_LINES = 45

Proposals = Iterator[tuple[float, str]]


@dataclass(frozen=True)
class Fault:
    """Where and why compiling stopped."""

    line: int
    offset: int
    message: str


def fault(text: str) -> Fault | None:
    """The first syntax error, or `None`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return Fault(error.lineno or 1, error.offset or 0, error.msg or "")
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return Fault(1, 0, str(error))
    return None


def compiles(text: str) -> bool:
    return fault(text) is None


def mended(source: str, most: int) -> list[tuple[float, str]]:
    """Texts that compile, cheapest first, from at most `most` tries."""
    first = fault(source)
    if first is None:
        return [(0.0, source)]
    found: dict[str, float] = {}
    seen = {source}
    tries = 0
    beam = [(0.0, source, first)]
    for _ in range(_DEPTH):
        further: list[tuple[float, str, Fault]] = []
        share = max(200, (most - tries) // max(1, len(beam)))
        for cost, text, at in beam:
            for extra, new in sorted(_proposals(text, at), key=lambda one: one[0])[:share]:
                if new in seen or tries >= most:
                    continue
                seen.add(new)
                tries += 1
                now = fault(new)
                if now is None:
                    if _does_something(new):
                        found[new] = cost + extra
                elif _moved_on(at, now, extra, len(new) - len(text)):
                    progress = 0.05 * min(10, now.line - at.line)
                    further.append((cost + extra - progress, new, now))
        if found:
            break
        further.sort(key=lambda one: one[0])
        beam = _varied(further)
        if not beam:
            break
    return sorted(((cost, text) for text, cost in found.items()), key=lambda one: one[0])[:_KEPT]


def _does_something(text: str) -> bool:
    """Whether a text that compiles is more than comments and loose constants: prose is not
    mended by taking it away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text).body
    return any(
        not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and not isinstance(node, ast.Pass)
        for node in body
    )


def _moved_on(before: Fault, after: Fault, cost: float, grown: int) -> bool:
    if after.line != before.line:
        return after.line > before.line or (cost < 1.0 and after.message != before.message)
    further = after.offset > before.offset + max(1, grown)
    return further or (after.message != before.message and cost < 1.0)


def _varied(states: list[tuple[float, str, Fault]]) -> list[tuple[float, str, Fault]]:
    beam, counts = [], dict[int, int]()
    for state in states:
        line = state[2].line
        counts[line] = counts.get(line, 0) + 1
        if counts[line] <= 3:
            beam.append(state)
        if len(beam) == _BEAM:
            break
    return beam


@dataclass(frozen=True)
class _Place:
    """A line under repair; `distance` is how far from the error it is thought to be."""

    lines: tuple[str, ...]
    index: int
    fault: Fault
    distance: float

    @property
    def line(self) -> str:
        return self.lines[self.index]

    @property
    def body(self) -> str:
        """The line without trailing space and comment."""
        return _without_comment(self.line)

    @property
    def width(self) -> int:
        return len(self.line) - len(self.line.lstrip())

    @property
    def about_indent(self) -> bool:
        message = self.fault.message
        return "indent" in message or "outside" in message or "loop" in message

    def with_line(self, cost: float, line: str) -> tuple[float, str]:
        return self.with_lines(cost, self.index, self.index + 1, (line,))

    def with_lines(
        self, cost: float, first: int, last: int, new: tuple[str, ...]
    ) -> tuple[float, str]:
        lines = (*self.lines[:first], *new, *self.lines[last:])
        return cost + self.distance, "\n".join(lines)

    def near(self, column: int, scale: float = 30.0) -> float:
        """The cost of being away from the error's column."""
        if self.index != self.fault.line - 1:
            return 0.5
        return abs(column - (self.fault.offset - 1)) / scale


def _proposals(text: str, at: Fault) -> Proposals:
    yield from _whole_text(text)
    lines = tuple(text.split("\n"))
    number = min(max(1, at.line), len(lines))
    places = [number - 1]
    before = number - 2
    while before >= 0 and not lines[before].strip():
        before -= 1
    if before >= 0:
        places.append(before)
    named = re.search(r"on line (\d+)", at.message)
    if named is not None and int(named.group(1)) <= len(lines):
        places.append(int(named.group(1)) - 1)
    if "never closed" in at.message:
        places += [index for index in range(number, min(number + 3, len(lines)))]
    if "unterminated triple" in at.message or "EOF" in at.message:
        places.append(len(lines) - 1)
    for rank, index in enumerate(dict.fromkeys(places)):
        if lines[index].strip():
            place = _Place(lines, index, at, 0.6 * rank)
            for rule in RULES:
                yield from rule(place)


def _whole_text(text: str) -> Proposals:
    if "\t" in text:
        yield 0.3, text.expandtabs(4)
        yield 0.4, text.expandtabs(8)
    if any(letter in text for letter in _TYPOGRAPHY):
        yield 0.3, text.translate(str.maketrans(_TYPOGRAPHY))
    if "\x00" in text:
        yield 0.3, text.replace("\x00", "")


def colon(place: _Place) -> Proposals:
    """A colon after a block's head, braces and semicolons of other languages."""
    body, tail = place.body, place.line[len(place.body) :]
    word = re.match(r"\s*(\w+)", place.line)
    if not body.endswith(":"):
        opens = word is not None and word.group(1) in _OPENERS
        yield place.with_line(0.3 if opens else 2.0, f"{body}:{tail}")
        if body.endswith(("{", ";", ",", ".")) or (opens and body.endswith((")", "=", "then"))):
            bare = body.removesuffix("then")[: None if body.endswith((")", "then")) else -1]
            yield place.with_line(0.4 if opens else 1.6, f"{bare.rstrip()}:{tail}")
    if body.endswith((";", "{", "}")):
        yield place.with_line(0.5, body[:-1].rstrip() + tail)
    otherwise = re.match(r"(\s*)\}?\s*(?:else\s+if|elseif|elsif)\b(.*)", place.line)
    if otherwise:
        yield place.with_line(0.2, f"{otherwise.group(1)}elif{otherwise.group(2)}")


def python_two(place: _Place) -> Proposals:
    """`print x`, `except E, e`, `raise E, "…"`, `exec`, backticks and old numbers."""
    printed = re.match(r"(\s*)print\s+(?!\()(.*)$|(\s*)print\s+(\(.*\).+)$", place.body)
    if printed:
        indent = printed.group(1) or printed.group(3) or ""
        value = printed.group(2) or printed.group(4)
        end = ", end=' '" if value.endswith(",") else ""
        yield place.with_line(0.2, f"{indent}print({value.removesuffix(',')}{end})")
    caught = re.match(r"(\s*except\s+[\w.() ,]+?),\s*(\w+)\s*:(.*)$", place.line)
    if caught:
        yield place.with_line(0.2, f"{caught.group(1)} as {caught.group(2)}:{caught.group(3)}")
        yield place.with_line(
            0.3, re.sub(r"except\s+([\w., ]+?)\s*:", r"except (\1):", place.line, count=1)
        )
    raised = re.match(r"(\s*raise\s+[\w.]+)\s*,\s*(.+)$", place.body)
    if raised:
        yield place.with_line(0.2, f"{raised.group(1)}({raised.group(2)})")
    if "`" in place.line:
        yield place.with_line(0.4, re.sub(r"`([^`]*)`", r"repr(\1)", place.line))
    octal = re.sub(r"\b0+(\d+)\b", r"\1", place.line)
    if octal != place.line:
        yield place.with_line(0.6, octal)
        yield place.with_line(0.7, re.sub(r"\b0(\d+)\b", r"0o\1", place.line))
    if "?" in place.body:
        assigned = re.match(r"(\s*(?:return|[\w.]+\s*=))\s*(.*?)\s*\?\s*(.+?)\s*:\s*(.+)$",
                            place.body)
        if assigned:
            head, test, yes, no = assigned.groups()
            yield place.with_line(0.3, f"{head} {yes} if {test} else {no}")


def comment(place: _Place) -> Proposals:
    """Comments of other languages, prose, and lines nobody can read."""
    bare, indent = place.line.strip(), place.line[: place.width]
    if bare.startswith(("//", "/*", "*", "--", "<!--", "```")):
        yield place.with_line(0.3, f"{indent}# {bare}")
    if bare.startswith("```"):
        yield place.with_lines(0.2, place.index, place.index + 1, ())
    if "//" in place.line:
        yield place.with_line(0.8, place.line.replace("//", "#", 1))
    if "/*" in place.line:
        yield place.with_line(0.4, re.sub(r"/\*.*?\*/", "", place.line))
        rest = range(place.index, len(place.lines))
        last = next((index for index in rest if "*/" in place.lines[index]), None)
        if last is not None:
            block = place.lines[place.index : last + 1]
            new = tuple(re.sub(r"^(\s*)", r"\1# ", line) for line in block)
            yield place.with_lines(0.4, place.index, last + 1, new)
    yield place.with_line(3.2, f"{indent}# {bare}")
    yield place.with_lines(2.8, place.index, place.index + 1, ())


def token(place: _Place) -> Proposals:
    """A token replaced, dropped, or spelt as a keyword."""
    line = place.line
    for match in _TOKEN.finditer(line):
        a, b, word = match.start(), match.end(), match.group()
        near = place.near(a, 25.0)
        for was, meant in _ANOTHER:
            if word == was:
                yield place.with_line(1.0 + near, line[:a] + meant + line[b:])
        if word.isidentifier() and word not in keyword.kwlist:
            for close in difflib.get_close_matches(word, [*keyword.kwlist, "print"], 2, 0.65):
                yield place.with_line(0.9 + near, line[:a] + close + line[b:])
            for head in ("return", "while", "import", "def", "for", "elif", "else", "not", "if",
                         "in", "class", "print"):
                if word.startswith(head) and len(word) > len(head):
                    split = f"{head} {word[len(head):]}"
                    yield place.with_line(1.8 + near, line[:a] + split + line[b:])
        yield place.with_line(2.4 + near, line[:a] + line[b:])
        if word[:1].isdigit() and b < len(line) and line[b].isalpha():
            yield place.with_line(2.0 + near, f"{line[:b]} * {line[b:]}")


def bracket(place: _Place) -> Proposals:
    """A missing bracket or quote."""
    line, body = place.line, place.body
    ends = sorted({edge for match in _TOKEN.finditer(line) for edge in match.span()} | {len(body)})
    for opening, closing in ("()", "[]", "{}"):
        missing = _outside_strings(line).count(opening) - _outside_strings(line).count(closing)
        for at in ends:
            near = place.near(at, 40.0)
            at_end = at == len(body) or (at == len(body) - 1 and body.endswith(":"))
            closes = (0.8 if missing > 0 else 2.0) + near - 0.25 * at_end
            opens = (0.8 if missing < 0 else 2.0) + near
            yield place.with_line(closes, line[:at] + closing + line[at:])
            yield place.with_line(opens, line[:at] + opening + line[at:])
    columns = range(place.width, len(line) + 1) if len(line) <= 100 else ends
    for quote in ("'", '"'):
        odd = line.count(quote) % 2
        for at in columns:
            cost = (0.7 if odd else 2.6) + place.near(at, 60.0) + (0.0 if at in ends else 0.3)
            yield place.with_line(cost, line[:at] + quote + line[at:])
    for quotes in ('"""', "'''"):
        if quotes in line:
            yield place.with_line(1.6, line.replace(quotes, "", 1))
            yield place.with_lines(1.4, len(place.lines), len(place.lines), (quotes,))
    string = re.search(r"""f(["'])(.*)\1""", line)
    if string and string.group(1) in string.group(2):
        other = "'" if string.group(1) == '"' else '"'
        inner = string.group(2).replace(string.group(1), other)
        new = f"f{string.group(1)}{inner}{string.group(1)}"
        yield place.with_line(0.4, line[: string.start()] + new + line[string.end() :])
    if "f-string" in place.fault.message:
        yield place.with_line(0.8, line.replace("}}", "}") if "}}" in line else line + "}")
        for at in ends:
            yield place.with_line(1.2 + place.near(at), line[:at] + "}" + line[at:])


def gap(place: _Place) -> Proposals:
    """A missing sign or word between two tokens, a missing value at the end."""
    line, body = place.line, place.body
    ends = sorted({edge for match in _TOKEN.finditer(line) for edge in match.span()})
    for at in ends:
        near = place.near(at)
        for sign in (",", ":", ".", "=", " = ", " in ", " and ", " == ", " + ", " * ", " not ",
                     " if ", " else ", "return ", " or "):
            cost = 1.4 if sign == "," and "comma" in place.fault.message else 2.0
            yield place.with_line(cost + near, line[:at] + sign + line[at:])
    if re.search(r"(?:[-+*/=%<>(&|,]|\b(?:and|or|not|in|return))$", body):
        for value in ("1", "0", "[]", "None", "True"):
            yield place.with_line(1.2, f"{body} {value}")
        yield place.with_line(1.4, body.rstrip("-+*/=%<>&|, "))
    incomplete = re.search(r"\belse\s*$", body) is None and re.search(r"\bif\b", body)
    if incomplete and "else" in place.fault.message:
        yield place.with_line(0.8, f"{body} else None")
    if line.rstrip().endswith("\\"):
        yield place.with_line(0.8, line.rstrip()[:-1].rstrip())
    if place.index + 1 < len(place.lines):
        joined = line.rstrip() + " " + place.lines[place.index + 1].strip()
        yield place.with_lines(2.4, place.index, place.index + 2, (joined,))


def indentation(place: _Place) -> Proposals:
    """A line, its block, or everything after it at another level; a missing body."""
    lines, index, width = place.lines, place.index, place.width
    before = index - 1
    while before >= 0 and not lines[before].strip():
        before -= 1
    previous = _width(lines[before]) if before >= 0 else 0
    widths = sorted(
        {_width(line) for line in lines if line.strip()}
        | {previous, previous + 4, max(0, previous - 4), width + 4, max(0, width - 4)}
    )
    for new in widths:
        if new == width:
            continue
        cost = (0.5 if place.about_indent else 1.6) + abs(new - previous) / 20
        cost += 0.0 if new in (previous, previous + 4) else 0.3
        yield place.with_line(cost, " " * new + place.line.strip())
        deeper, same = index + 1, index + 1
        while deeper < len(lines) and (not lines[deeper].strip() or _width(lines[deeper]) > width):
            deeper += 1
        while same < len(lines) and (not lines[same].strip() or _width(lines[same]) >= width):
            same += 1
        ends = {deeper: 0.15, same: 0.2, len(lines): 0.4}
        if place.about_indent:
            for end in range(index + 2, min(len(lines), index + _SHIFTED_LINES) + 1):
                ends.setdefault(end, 0.5 + 0.01 * end)
        for end, extra in ends.items():
            if end > index + 1:
                moved = tuple(_moved(line, new - width) for line in lines[index:end])
                yield place.with_lines(cost + extra, index, end, moved)
    if "expected an indented block" in place.fault.message:
        head = before if place.index == place.fault.line - 1 else index
        if head >= 0:
            body = " " * (_width(lines[head]) + 4) + "pass"
            yield place.with_lines(0.9, head + 1, head + 1, (body,))


RULES: tuple[Callable[[_Place], Proposals], ...] = (
    colon, python_two, comment, token, bracket, gap, indentation,
)
"""The families of edits; each looks at one line and its neighbours."""


def _width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _moved(line: str, distance: int) -> str:
    return " " * max(0, _width(line) + distance) + line.lstrip() if line.strip() else line


def _outside_strings(line: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', "", line)


def _without_comment(line: str) -> str:
    masked = re.sub(
        r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', lambda match: "_" * len(match.group()), line
    )
    return line[: masked.find("#")].rstrip() if "#" in masked else line.rstrip()
