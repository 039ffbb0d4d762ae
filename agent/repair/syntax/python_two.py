"""Python 2 as Python 3: everywhere in the text at once."""

from __future__ import annotations

import functools
import re

from agent.repair.syntax.broken import Broken, Proposal
from agent.repair.syntax.tokens import CLOSERS, OPENERS, Token

Edit = tuple[int, int, str]


def python_two(broken: Broken) -> list[Proposal]:
    """The text with all signs of Python 2 replaced, and with those that have two readings."""
    text = broken.text
    found = []
    for cost, words in ((0.2, "as"), (0.3, "tuple")):
        edits = sorted([*_printed(broken), *_signs(broken), *_caught(broken, words),
                        *_raised(broken)])
        if edits:
            found.append(Proposal(cost, 0, len(text), _edited(text, edits)))
    plain = [edit for edit in _signs(broken) if edit[2].startswith("0o")]
    if plain:
        decimal = [(a, b, new[2:]) for a, b, new in plain]
        found.append(Proposal(0.35, 0, len(text), _edited(text, decimal)))
    return found


def _edited(text: str, edits: list[Edit]) -> str:
    parts, last = [], 0
    for start, end, new in edits:
        if start >= last:
            parts += [text[last:start], new]
            last = end
    return "".join([*parts, text[last:]])


@functools.lru_cache(maxsize=8)
def _statements(some: tuple[Token, ...]) -> tuple[list[Token], ...]:
    """The tokens of each simple statement, or of the head of each compound one."""
    found: list[list[Token]] = []
    current: list[Token] = []
    depth = 0
    for token in some:
        sign = token.kind == "sign"
        depth += (sign and token.text in OPENERS) - (sign and token.text in CLOSERS)
        ends = token.kind in ("newline", "comment") or (sign and token.text == ";")
        if (ends and depth <= 0) or (sign and token.text == ":" and depth <= 0):
            found.append(current)
            current, depth = [], 0
        elif token.kind not in ("newline", "comment"):
            current.append(token)
    return tuple(statement for statement in [*found, current] if statement)


def _printed(broken: Broken) -> list[Edit]:
    prints = [one for one in _statements(broken.tokens) if one[0].text == "print"]
    if not any(_is_print_statement(one) for one in prints):
        return []
    edits: list[Edit] = []
    for statement in prints:
        values = statement[1:]
        if not values:
            edits.append((statement[0].start, statement[0].end, "print()"))
        elif _is_print_statement(statement):
            start, end = values[0].start, values[-1].end
            options = []
            if values[-1].text == ",":
                options.append("end=' '")
                end = values[-1].start
            if values[0].text == ">>":
                comma = next((one for one in values if one.text == "," and one.end < end), None)
                target_end = comma.start if comma else end
                options.insert(0, f"file={broken.text[values[0].end : target_end].strip()}")
                start = comma.end if comma else end
            shown = broken.text[start:end].strip()
            inside = ", ".join([*([shown] if shown else []), *options])
            edits.append((statement[0].start, values[-1].end, f"print({inside})"))
    return edits


def _is_print_statement(statement: list[Token]) -> bool:
    """Whether a statement that begins with `print` is more than a call of it."""
    values = statement[1:]
    if not values or values[0].text in ("=", ".", ",", ")", "]", "+=", "in", "is", "[") or (
            values[0].kind == "open string"):
        return False
    if values[0].text != "(":
        return values[0].begins_operand or values[0].text in (">>", "`")
    depth = 0
    for place, token in enumerate(values):
        sign = token.kind == "sign"
        depth += (sign and token.text in OPENERS) - (sign and token.text in CLOSERS)
        if depth == 0:
            return place + 1 < len(values) and values[place + 1].text in (
                "%", ",", "+", "*", "if", "and", "or", "[", ".")
    return False


def _caught(broken: Broken, words: str) -> list[Edit]:
    """`except E, e:` names what was caught, or was meant as a tuple of classes."""
    edits: list[Edit] = []
    for statement in _statements(broken.tokens):
        commas = [one for one in statement if one.text == ","]
        if statement[0].text == "except" and commas and len(statement) > 3:
            bracketed = statement[1].text == "("
            comma, last = commas[-1], statement[-1]
            if bracketed and statement[-1].text == ")":
                continue
            if words == "as":
                name = broken.text[comma.end : last.end].strip()
                edits.append((comma.start, last.end, f" as {name}"))
            elif not bracketed:
                inside = broken.text[statement[1].start : last.end]
                edits.append((statement[1].start, last.end, f"({inside})"))
    return edits


def _raised(broken: Broken) -> list[Edit]:
    edits: list[Edit] = []
    for statement in _statements(broken.tokens):
        comma = next((one for one in statement if one.text == ","), None)
        if statement[0].text == "raise" and comma is not None and (
                not any(one.text == "(" and one.start < comma.start for one in statement)):
            inside = broken.text[comma.end : statement[-1].end].strip()
            edits.append((comma.start, statement[-1].end, f"({inside})"))
    return edits


def _signs(broken: Broken) -> list[Edit]:
    edits: list[Edit] = []
    for token in broken.tokens:
        if token.text == "<>" and token.kind == "sign":
            edits.append((token.start, token.end, "!="))
        elif token.kind == "number" and re.fullmatch(r"0\d+", token.text):
            digits = token.text.lstrip("0") or "0"
            octal = set(digits) <= set("01234567") and digits != "0"
            edits.append((token.start, token.end, f"0o{digits}" if octal else digits))
    return edits
