"""Repairs strings and f-strings: missing, wrong or unescaped quotes, and braces."""

from __future__ import annotations

import functools
import re

from agent.search.syntax.broken import Broken, SourceLine, SyntaxEdit
from agent.search.syntax.tokens import Token

_PREFIX = re.compile(r"(?i)[rbuf]{0,2}")
_F_STRING = re.compile(r"(?i)\b(?:f|rf|fr)(?=[\"'])")
_IN_BRACES = re.compile(r"\{[^{}]*\}")
_WORD_STARTS = re.compile(r"(?<!\w)(?=[A-Za-z_])")
_WORD_ENDS = re.compile(r"(?<=[\w)\]])(?![\w(\[.])")
_NESTED = ((0.3, '"', "'"), (0.3, "'", '"'), (0.5, '\\"', '"'), (0.5, "\\'", "'"),
           (0.5, '"\\n"', "chr(10)"), (0.5, "'\\n'", "chr(10)"))
"""Costs, and texts in the braces of an f-string that need a newer Python, with replacements."""
_LINES, _LETTERS = 40, 400
_CODE = re.compile(r"\s*(?:(?:if|for|while|return|def|class|with|try|import|from|raise|yield|assert"
                   r"|print|self)\b|[\w.\[\], ]+ ?[-+*/]?= |[\w.]+\(|@\w)")


def quotes(broken: Broken) -> list[SyntaxEdit]:
    """Adds, removes or replaces quotes, and repairs multi-line strings and f-strings."""
    found: list[SyntaxEdit] = []
    for line in broken.suspect_lines:
        some = broken.tokens_of(line)
        for token in some:
            if token.kind == "open string":
                is_triple = token.text.lstrip("rbfuRBFU").startswith(('"""', "'''"))
                found += (
                    _triple(broken, line, token) if is_triple
                    else _single(broken, line, token, some)
                )
        found += _token_quotes(broken, line, some)
        found += _f_string_edits(line)
    found += _docstring_quotes(broken)
    return found


def _single(broken: Broken, line: SourceLine, token: Token, some: list[Token]) -> list[SyntaxEdit]:
    """Closes a string that is open at the end of its line."""
    found = []
    prefix = len(_PREFIX.match(token.text).group())  # type: ignore[union-attr]
    quote = token.text[prefix]
    inside = token.text[prefix + 1 :]
    begin = token.start + prefix + 1
    tail = re.search(r"[\s)\]},:;]*(?:#.*)?$", inside)
    assert tail is not None
    likely = begin + tail.start()
    away = line.distance
    for place in range(begin, min(token.end, begin + _LETTERS) + 1):
        left, right = broken.text[begin:place], broken.text[place : token.end]
        boundary = not (left[-1:].isalnum() and right[:1].isalnum())
        cost = 0.4 if place == likely else 0.55 if place == token.end else 0.75
        if place < likely:
            code = re.match(r"\s*(?:[,)\]}:%+]|\.\w+\(|(?:if|else|for|in|and|or|not|as)\b)", right)
            cost = 0.5 + 0.01 * (likely - place) if code else 1.1
        found.append(SyntaxEdit(cost + away + (0.0 if boundary else 0.6), place, place, quote))
    for other in "'\"":
        if other != quote and other in inside:
            at = begin + inside.index(other)
            found.append(SyntaxEdit(0.36 + away, at, at + 1, quote))
            found.append(SyntaxEdit(0.38 + away, begin - 1, begin, other))
            last = begin + inside.rindex(other)
            found.append(SyntaxEdit(0.4 + away, last, last + 1, quote))
    found.append(SyntaxEdit(1.1 + away, token.start, begin, ""))
    found += _opening(broken, line, token, quote, some)
    found += _requoted(broken, line, quote, some)
    found += _line_breaks(broken, line, token, quote)
    if inside.endswith(quote) or "\\" + quote in inside:
        at = begin + inside.rfind("\\" + quote)
        if at >= begin:
            found.append(SyntaxEdit(0.42 + away, at, at, "\\"))
    return found


def _opening(
    broken: Broken, line: SourceLine, token: Token, quote: str, some: list[Token]
) -> list[SyntaxEdit]:
    """Adds the missing opening quote of a string that has only its closing quote."""
    found = []
    end = token.start
    for piece in some:
        if piece.start > end:
            break
        previous = [one for one in some if one.end <= piece.start]
        joins = not previous or previous[-1].text in (
            "(", "[", "{", ",", "=", "==", "!=", ":", "+", "%", "in", "return", "+=", "and", "or",
            "if", "else", "print", "not", "raise")
        between = any(one.kind == "string" for one in some if piece.start <= one.start < end)
        cost = (0.45 if joins else 0.9) + 0.008 * (end - piece.start) + 0.8 * between
        found.append(SyntaxEdit(cost + line.distance, piece.start, piece.start, quote))
    return found


def _requoted(broken: Broken, line: SourceLine, quote: str, some: list[Token]) -> list[SyntaxEdit]:
    """Escapes an apostrophe in a string with the same quotes, or changes the quotes."""
    first = next((one for one in some if one.kind in ("string", "open string")
                  and quote in one.text), None)
    if first is None:
        return []
    start = broken.text.index(quote, first.start)
    last = broken.text.rindex(quote, line.start, line.end)
    if last <= start:
        return []
    inside = broken.text[start + 1 : last]
    found = []
    other = "'" if quote == '"' else '"'
    edge = 0.4 if inside.endswith(quote) or inside.startswith(quote) else 0.0
    if other not in inside and quote in inside:
        found.append(
            SyntaxEdit(0.42 + edge + line.distance, start, last + 1, other + inside + other)
        )
    escaped = re.sub(rf"(?<!\\){quote}", "\\\\" + quote, inside)
    if quote in inside:
        found.append(SyntaxEdit(0.6 + line.distance, start, last + 1, quote + escaped + quote))
    for match in re.finditer(rf"(?<=\w){quote}(?=\w)", inside):
        at = start + 1 + match.start()
        found.append(SyntaxEdit(0.5 + line.distance, at, at, "\\"))
    return found


def _line_breaks(broken: Broken, line: SourceLine, token: Token, quote: str) -> list[SyntaxEdit]:
    """Replaces a line break in a string by `\\n` or a blank, or uses triple quotes."""
    found = []
    for row in range(line.index + 1, min(len(broken.lines), line.index + 12)):
        text = broken.lines[row]
        end = broken.starts[row] + len(text)
        if text.count(quote) % 2 == 1:
            inside = broken.text[token.start : end]
            at, opening = inside.rindex(quote), inside.index(quote)
            tripled = (inside[:opening] + quote * 3 + inside[opening + 1 : at] + quote * 3
                       + inside[at + 1 :])
            found += [
                SyntaxEdit(cost + line.distance, token.start, end, new) for cost, new in (
                    (0.38, inside.replace("\n", "\\n")),
                    (0.8, re.sub(r"\s*\n\s*", " ", inside)),
                    (0.7, tripled),
                )
            ]
            break
    return found


def _token_quotes(broken: Broken, line: SourceLine, some: list[Token]) -> list[SyntaxEdit]:
    """Removes a quote, or adds one before or after any token."""
    found = []
    for token in some:
        if token.kind == "string":
            away = 0.4 * broken.away(token.start, line) + line.distance
            found.append(SyntaxEdit(1.5 + away, token.start, token.start + 1, ""))
            found.append(SyntaxEdit(1.5 + away, token.end - 1, token.end, ""))
    edges = sorted({edge for token in some if token.kind != "comment"
                    for edge in (token.start, token.end)})
    opened = any(token.kind == "open string" for token in some)
    if opened:
        found += [
            SyntaxEdit(0.5 + line.distance, token.start + match.start(), token.start + match.end(),
                     token.text[-1])
            for token in some if token.kind == "string"
            for match in re.finditer(r"['\"]", token.text) if match.group() != token.text[-1]
        ]
    for quote in "'\"":
        for edge in edges:
            cost = (1.5 if opened else 2.6) + 0.4 * broken.away(edge, line) + line.distance
            found.append(SyntaxEdit(cost, edge, edge, quote))
    return found


def _triple(broken: Broken, line: SourceLine, token: Token) -> list[SyntaxEdit]:
    """Closes a triple-quoted string at the end of its line or of a later one."""
    prefix = len(_PREFIX.match(token.text).group())  # type: ignore[union-attr]
    marks = token.text[prefix : prefix + 3]
    found = []
    away = line.distance
    code_lines = 0
    stripped = broken.lines[line.index].rstrip()
    tail = len(stripped) - len(stripped.rstrip(marks[0]))
    if stripped.endswith(marks[0]) and line.start + len(stripped) > token.start + prefix + 3:
        end = line.start + len(stripped)
        found.append(SyntaxEdit(0.3 + away, end, end, marks[0] * (3 - tail)))
    for row in range(line.index, min(len(broken.lines), line.index + _LINES)):
        if row == line.index and line.text.strip() == marks:
            continue
        text = broken.lines[row].rstrip()
        end = broken.starts[row] + len(text)
        following = broken.lines[row + 1] if row + 1 < len(broken.lines) else ""
        code = _CODE.match(following) is not None or not following.strip()
        code_lines += row != line.index and _CODE.match(text) is not None
        cost = 0.45 + 0.01 * (row - line.index) + (0.0 if code else 0.25) + 0.25 * code_lines
        if text.strip():
            found.append(SyntaxEdit(cost + away, end, end, marks))
        indent = " " * line.width
        own = cost + (0.1 if text.strip() else -0.02)
        start = broken.starts[row] + (len(broken.lines[row]) if text.strip() else 0)
        new = f"\n{indent}{marks}" if text.strip() else f"{indent}{marks}"
        found.append(
            SyntaxEdit(own + away, start, broken.starts[row] + len(broken.lines[row]), new)
        )
    found.append(SyntaxEdit(1.2 + away, token.start, token.start + prefix + 3, ""))
    found.append(SyntaxEdit(1.3 + away, token.start + prefix, token.start + prefix + 3, marks[0]))
    return found


def _docstring_quotes(broken: Broken) -> list[SyntaxEdit]:
    """Adds missing triple quotes at the beginning of a docstring."""
    row = broken.index
    found = []
    for marks in ('"""', "'''"):
        if broken.text.count(marks) % 2:
            for above in (row, row - 1, row - 2):
                if above >= 0 and broken.lines[above].strip():
                    at = broken.starts[above] + len(broken.lines[above]) - len(
                        broken.lines[above].lstrip())
                    found.append(SyntaxEdit(0.6 + 0.1 * (row - above), at, at, marks))
    return found


def _f_string_edits(line: SourceLine) -> list[SyntaxEdit]:
    """Repairs the expressions in an f-string, and adds or removes one brace."""
    head = None if line.is_long else _F_STRING.search(line.text)
    if head is None:
        return []
    found = [line.replaced_with(0.62, line.text.replace("{}", "{{}}"))]
    for cost, old, new in _NESTED:
        text = _IN_BRACES.sub(functools.partial(_replaced, old, new), line.text)
        found.append(line.replaced_with(cost, text))
    begin = line.start + head.end()
    inside = line.text[head.end() :]
    opened = inside.count("{") - inside.count("}")
    edits = [(match.start(), match.end(), "") for match in re.finditer("[{}]", inside)]
    edits += [(one.start(), one.start(), "}") for one in _WORD_ENDS.finditer(inside)]
    edits += [(one.start(), one.start(), "{") for one in _WORD_STARTS.finditer(inside)]
    for start, end, new in edits:
        more = (new or inside[start:end]) == "{"
        likely = opened and (more if not new else not more) == (opened > 0)
        doubled = not new and inside[start : start + 2] in ("{{", "}}")
        cost = 0.42 if doubled else 1.6 if not likely else 0.45 if new or not more else 0.9
        cost += 0.5 * (new == "{" == inside[start - 1 : start])
        near = inside.rfind("{", 0, start) if new == "}" else start
        found.append(SyntaxEdit(
            cost + 0.01 * (start - near) + line.distance, begin + start, begin + end, new
        ))
    return [one for one in found if one.new != line.text]


def _replaced(old: str, new: str, part: re.Match[str]) -> str:
    return part[0].replace(old, new)
