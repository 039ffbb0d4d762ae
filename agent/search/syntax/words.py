"""Edits of one token near the fault that is misspelt, missing, superfluous or wrong."""

from __future__ import annotations

import builtins
import difflib
import functools
import itertools
import re

from agent.search.syntax.broken import Broken, SourceLine, SyntaxEdit
from agent.search.syntax.tokens import CLOSERS, OPENERS, PARTNER, Token, unclosed

_STATEMENTS = ("return", "while", "import", "from", "def", "for", "elif", "else", "if", "class",
               "try", "except", "finally", "with", "raise", "pass", "break", "continue", "yield",
               "print", "del", "global", "assert", "async", "nonlocal")
_INNER = ("in", "not", "and", "or", "is", "lambda", "else", "if", "for", "None", "True", "False",
          "import", "as", "await", "from", "yield")
_BLOCK_KEYWORDS = ("if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally",
            "with", "async", "match", "case")
_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())
_UNLIKELY_SIGNS = "$?`!\\;~@"
_CORRECTIONS: dict[str, tuple[str, ...]] = {
    "=": ("==", ":", "-", ":="), "==": ("=",), ",": (":", ".", "=", ""), ".": (",", ":", ""),
    ";": (":", ","), ":": ("=", ",", ":=", "", ";"), ":=": ("=", "=="), "<-": ("=",),
    "->": (":", "."), "=>": (":", ">=", "="), "<>": ("!=",), "null": ("None",), "nil": ("None",),
    "xor": ("^",), "^": ("**",), "/": ("//",), "|": ("or",), "&": ("and",), "then": (":", ""),
    "do": (":", ""), "elseif": ("elif",), "elsif": ("elif",), "async": ("",), "await": ("",),
    "switch": ("match",), "as": ("=",), "*": ("",), "!": ("not ",), "+": (",",),
    "-": ("_", "="), "not": ("",), "is": ("==",), "of": ("in",), "on": ("in",),
}
"""Tokens and their possible corrections."""
_INSERTED: dict[str, float] = {
    " in ": 1.2, ":": 0.9, ".": 1.5, ",": 1.6, "=": 1.0, " + ": 1.1, " == ": 1.1, " and ": 1.15,
    " * ": 1.2, " - ": 1.2, " not ": 1.25, " if ": 1.25, " else ": 1.3, " or ": 1.3, " as ": 1.0,
    "*": 1.35, " import ": 1.35, " % ": 1.4, " += ": 1.4,
}
"""Signs and words that may be missing between two operands, with their costs."""
_JOINED = ("==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "//", "**", ":=", "//=", "%=")


def words(broken: Broken) -> list[SyntaxEdit]:
    """Every edit of one word, sign or bracket near the fault."""
    found = [*_awaited(broken), *_keywords_as_names(broken)]
    for line in broken.suspect_lines:
        some = broken.tokens_of(line)
        opened, closed = _balance(some)
        found += _colon(broken, line, some)
        found += _misspelt(broken, line, some)
        found += _replaced(broken, line, some)
        found += _missing(broken, line, some)
        found += _lines(broken, line, some)
        found += _add_closing_bracket(broken, line, some, opened)
        found += _add_opening_bracket(broken, line, some, closed)
        found += _change_bracket(broken, line, some, [*opened, *closed])
    return found


def _colon(broken: Broken, line: SourceLine, some: list[Token]) -> list[SyntaxEdit]:
    """Adds a colon after the head of a block."""
    code = [token for token in some if token.kind != "comment"]
    if not code or code[-1].text == ":":
        return []
    opens = code[0].text in _BLOCK_KEYWORDS
    cost = (0.25 if opens else 1.7) + line.distance
    found = [SyntaxEdit(cost, code[-1].end, code[-1].end, ":")]
    if not code[-1].ends_operand:
        found.append(SyntaxEdit(cost + 0.08, code[-1].start, code[-1].end, ":"))
    if opens:
        for token in code[:-1]:
            if token.ends_operand or token.text in ("else", "try", "finally"):
                away = 0.01 * (code[-1].end - token.end)
                found.append(SyntaxEdit(0.9 + away + line.distance, token.end, token.end, ":"))
    return found


@functools.cache
def _similar_keywords(word: str) -> tuple[str, ...]:
    """Keywords that are similar to a word."""
    every, lowered = dict.fromkeys((*_STATEMENTS, *_INNER)), word.lower()
    alike = difflib.get_close_matches(lowered, map(str.lower, every), 4, 0.7)
    return tuple(
        other for other in every if other != word
        and (other.lower() in alike or sorted(other.lower()) == sorted(lowered))
    )


def _misspelt(broken: Broken, line: SourceLine, some: list[Token]) -> list[SyntaxEdit]:
    """Corrects a misspelt keyword, or adds the blank after one."""
    found = []
    for place, token in enumerate(some):
        before = some[place - 1].text if place else ":"
        if token.kind != "name" or before == ".":
            continue
        first = before in (":", ";", "}")
        away = 0.4 * broken.away(token.start, line) + line.distance + 1.0 * token.is_keyword
        for other in _similar_keywords(token.text):
            if first or other in _INNER:
                cost = 0.4 if first and other in _STATEMENTS else 0.6
                found.append(SyntaxEdit(cost + away, token.start, token.end, other))
        for head in (*_STATEMENTS, *_INNER):
            if token.text.startswith(head) and not token.is_keyword:
                at = token.start + len(head)
                cost = 0.5 if first and head in _STATEMENTS else 1.2
                found.append(SyntaxEdit(cost + away, at, at, " "))
    return found


def _replaced(broken: Broken, line: SourceLine, some: list[Token]) -> list[SyntaxEdit]:
    """Replaces or removes a token, or joins two signs."""
    found = []
    for place, token in enumerate(some):
        away = broken.away(token.start, line) + line.distance
        before = some[place - 1] if place else None
        following = some[place + 1] if place + 1 < len(some) else None
        for rank, other in enumerate(_CORRECTIONS.get(token.text, ())):
            is_test = other == "==" and some[0].text in ("if", "elif", "while", "assert", "return")
            cost = 0.35 if is_test else 0.9 + 0.15 * rank
            found.append(SyntaxEdit(cost + away, token.start, token.end, other))
        if token.text in OPENERS + CLOSERS:
            continue
        doubled = before is not None and before.text == token.text != "not"
        last = following is None or following.kind == "comment"
        if doubled:
            cost = 0.45
        elif token.text in _UNLIKELY_SIGNS or (token.kind == "sign" and not token.text.isascii()):
            cost = 0.55
        elif token.text in (",", ".", ";") and (last or place == 0):
            cost = 0.6
        else:
            cost = 1.3 if last or place == 0 else 1.9
        start = before.end if last and before is not None else token.start
        end = token.start if token.kind == "comment" else token.end
        if doubled and following is not None:
            end = following.start
        found.append(SyntaxEdit(cost + away, start, end, ""))
        if following is None:
            continue
        is_spaced = following.start > token.end
        if is_spaced and token.text + following.text in _JOINED:
            found.append(SyntaxEdit(0.3 + away, token.end, following.start, ""))
        if token.text == "=" and following.text in ("<", ">", "!"):
            found.append(SyntaxEdit(0.35 + away, token.start, following.end, following.text + "="))
        if token.kind == "number" and following.kind == "name" and not is_spaced:
            found.append(SyntaxEdit(0.6 + away, token.end, token.end, " * "))
    return found


def _missing(broken: Broken, line: SourceLine, some: list[Token]) -> list[SyntaxEdit]:
    """Adds a missing sign or word between two tokens."""
    found = []
    depth = len([one for one in broken.open_brackets if one.start < line.start])
    is_loop = any(token.text == "for" for token in some)
    for place, token in enumerate(some):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        following = some[place + 1] if place + 1 < len(some) else None
        if token.kind == "comment":
            continue
        away = broken.away(token.end, line) + line.distance
        for sign, cost in _between(token, following, depth, is_loop=is_loop).items():
            spaced = following is not None and token.ends_operand and sign[0] == " "
            end = following.start if spaced and following is not None else token.end
            found.append(SyntaxEdit(cost + away, token.end, end, sign))
    return found


def _between(
    token: Token, following: Token | None, depth: int, *, is_loop: bool
) -> dict[str, float]:
    """Signs and words that may be missing between two tokens, with their costs."""
    if following is None or not (token.ends_operand and following.begins_operand):
        return {sign: cost + 0.9 for sign, cost in _INSERTED.items()}
    likely = {
        ",": 0.6 if depth > 0 else 1.6,
        " in ": 0.45 if is_loop else 1.2,
        ".": 0.7 if token.kind in ("name", "string") else 1.5,
        " + ": 0.65 if "string" in (token.kind, following.kind) else 1.1,
    }
    return {**_INSERTED, **likely}


def _lines(broken: Broken, line: SourceLine, some: list[Token]) -> list[SyntaxEdit]:
    """Splits, joins, removes or comments out lines."""
    found = []
    indent = line.text[: line.width]
    opens = bool(some) and some[0].text in _BLOCK_KEYWORDS
    for before, token in itertools.pairwise(some):
        starts = token.text in (*_STATEMENTS, "@") or (
            token.kind == "name" and not token.is_keyword)
        ends = before.ends_operand or before.text in ("pass", "break", "continue", "return", ":")
        if starts and ends and before.end < token.start:
            likely = token.text in _STATEMENTS and token.text not in ("if", "else", "for")
            away = 0.4 * broken.away(token.start, line) + line.distance
            deeper = indent + "    " if before.text == ":" and opens else indent
            found.append(SyntaxEdit((0.5 if likely else 0.7) + away, before.end, token.start,
                                  "\n" + deeper))
    below = broken.below(line.index)
    if below is not None and some:
        text = broken.lines[below].lstrip()
        last = [token for token in some if token.kind != "comment"][-1:]
        is_continued = (
            text.split()[0] in ("and", "or", "if", "else", "in", "is", "not", "for")
            or text[0] in ".+-*/%<>="
            or any(not one.ends_operand and one.text not in (":", ",") for one in last)
        )
        cost = (0.5 if is_continued else 1.6) + line.distance
        end = line.start + len(line.text.rstrip())
        start = broken.starts[below] + len(broken.lines[below]) - len(text)
        found.append(SyntaxEdit(cost, end, start, "" if text.startswith(".") else " "))
        if is_continued:
            found.append(SyntaxEdit(cost - 0.05, end, line.end, " \\"))
    if line.text != line.text.rstrip() and line.text.rstrip().endswith("\\"):
        found.append(line.replaced_with(0.4, line.text.rstrip()))
    prose = len(some) > 1 and not opens and all(
        token.kind == "name" and not token.is_keyword for token in some)
    found.append(broken.replaced((1.1 if prose else 2.6) + line.distance, line.index,
                                 line.index + 1, ()))
    found.append(line.replaced_with(3.0, f"{indent}# {line.text.strip()}"))
    return found


def _awaited(broken: Broken) -> list[SyntaxEdit]:
    """Makes the function around an `await` asynchronous, or removes the `await`."""
    if not broken.fault.mentions("async", "await"):
        return []
    start = broken.starts[broken.index]
    found = [
        SyntaxEdit(0.8, start + match.start(), start + match.end(), "")
        for match in re.finditer(r"\b(?:async|await)\s+", broken.lines[broken.index])
    ]
    for match in [*re.finditer(r"^[ \t]*(?=def )", broken.text[:start], re.MULTILINE)][-1:]:
        found.append(SyntaxEdit(0.3, match.end(), match.end(), "async "))
    return found


def _keywords_as_names(broken: Broken) -> list[SyntaxEdit]:
    """Appends an underscore to a keyword that is used as a name, everywhere."""
    near = {
        token.text for line in broken.suspect_lines for token in broken.tokens_of(line)
        if token.is_keyword and token.text not in ("None", "True", "False", "not", "else")
    }
    texts = (
        re.sub(rf"\b{name}\b(?=\s*(?:[=,)\].\[]|in\b))", f"{name}_", broken.text)
        for name in sorted(near)
    )
    return [SyntaxEdit(0.5, 0, len(broken.text), text) for text in texts if text != broken.text]


# Brackets


def _balance(some: list[Token]) -> tuple[list[Token], list[Token]]:
    """The opening and the closing brackets of a line that have no partner in it."""
    stack: list[Token] = []
    unmatched: list[Token] = []
    for token in some:
        if token.kind == "sign" and token.text in OPENERS:
            stack.append(token)
        elif token.kind == "sign" and token.text in CLOSERS:
            while any(one.text == PARTNER[token.text] for one in stack) and (
                stack[-1].text != PARTNER[token.text]
            ):
                unmatched.append(token)
                stack.pop()
            if stack and stack[-1].text == PARTNER[token.text]:
                stack.pop()
            else:
                unmatched.append(token)
    return (unclosed(tuple(some)) if unmatched else stack), unmatched


def _add_closing_bracket(
    broken: Broken, line: SourceLine, some: list[Token], opened: list[Token]
) -> list[SyntaxEdit]:
    """Adds a closing bracket at the end of the line, before its colon, or after an operand."""
    code = [token for token in some if token.kind != "comment"]
    if not code:
        return []
    found = []
    outer = [one for one in broken.open_brackets if one.start < line.start]
    ends = {token.end for token in code if token.ends_operand or token.text in (",", *OPENERS)}
    final = code[-2].end if len(code) > 1 and code[-1].text == ":" else code[-1].end
    for kind, closing in zip(OPENERS, CLOSERS, strict=True):
        if opened and opened[-1].text == kind:
            base = 0.45
        elif any(one.text == kind for one in (*opened, *outer[-1:])):
            base = 0.8
        else:
            base = 2.0
        for place in sorted(ends | {final}):
            if base == 0.45 and place < opened[-1].end:
                continue
            extra = 0.0 if place == final else 0.12 + 0.4 * broken.away(place, line)
            extra += 0.8 * (broken.text[place - 1] == ",")
            found.append(SyntaxEdit(base + extra + line.distance, place, place, closing))
    if len(opened) > 1:
        closing = "".join(PARTNER[one.text] for one in reversed(opened))
        found.append(SyntaxEdit(0.46 + line.distance, final, final, closing))
    return found


def _add_opening_bracket(
    broken: Broken, line: SourceLine, some: list[Token], closed: list[Token]
) -> list[SyntaxEdit]:
    """Adds an opening bracket before an operand, preferably as a call, or between two known names
    that are written as one word."""
    found = []
    known = _BUILTINS.union(token.text for token in broken.tokens if token.kind == "name")
    for kind, closing in zip(OPENERS, CLOSERS, strict=True):
        partner = next((one for one in closed if one.text == closing), None)
        for place, token in enumerate(some):
            behind = partner is not None and token.start > partner.start
            if behind or not (token.begins_operand or token.text == closing):
                continue
            if partner is not None and token.kind == "name" and not token.is_keyword:
                cuts = (
                    cut for cut in range(1, len(token.text)) if token.text[:cut] in known
                    and (token.text[cut:] in known or token.text[cut:].isdigit())
                )
                found += [
                    SyntaxEdit(0.5 + line.distance, token.start + cut, token.start + cut, kind)
                    for cut in cuts
                ]
            before = some[place - 1] if place else None
            value = before is not None and before.ends_operand
            extra = 0.1 + 0.3 * (token.text == closing)
            if kind == "(" and before is not None and value:
                extra -= 0.1 if before.text in _BUILTINS else 0.05
            elif kind == "[" and (value or token.text != closing):
                extra -= 0.05
            cost = (0.5 if partner is not None else 2.1) + extra + line.distance
            cost += 0.25 * broken.away(token.start, line)
            found.append(SyntaxEdit(cost, token.start, token.start, kind))
            if before is not None and value and before.end < token.start:
                found.append(SyntaxEdit(cost, before.end, token.start, kind))
    return found


def _change_bracket(
    broken: Broken, line: SourceLine, some: list[Token], unmatched: list[Token]
) -> list[SyntaxEdit]:
    """Removes a bracket, or replaces it by one of another kind, preferably its partner's."""
    found = []
    stack = [one for one in broken.open_brackets if one.start < line.start] * (
        line.index == broken.index)
    pairs: dict[int, Token] = {}
    for token in some:
        if token.kind == "sign" and token.text in OPENERS:
            stack.append(token)
        elif token.kind == "sign" and token.text in CLOSERS and stack:
            opener = stack.pop()
            pairs[token.start], pairs[opener.start] = opener, token
    for token in some:
        if token.kind != "sign" or token.text not in OPENERS + CLOSERS:
            continue
        away = 0.3 * broken.away(token.start, line) + line.distance
        is_unmatched = token in unmatched
        found.append(SyntaxEdit((0.55 if is_unmatched else 2.0) + away, token.start, token.end, ""))
        partner = pairs.get(token.start)
        for other in OPENERS if token.text in OPENERS else CLOSERS:
            if other != token.text:
                fits = partner is not None and PARTNER[other] == partner.text
                cost = 0.4 if fits else 1.2 if is_unmatched else 2.0
                found.append(SyntaxEdit(cost + away, token.start, token.end, other))
    return found
