"""Brackets that are missing, too many, or of the wrong kind."""

from __future__ import annotations

import builtins

from agent.repair.syntax.broken import Broken, Line, Proposal
from agent.repair.syntax.tokens import CLOSERS, OPENERS, PARTNER, Token, unclosed

_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())


def brackets(broken: Broken) -> list[Proposal]:
    """Each bracket near the fault dropped or exchanged, and a new one at every place."""
    found: list[Proposal] = []
    known = _BUILTINS.union(token.text for token in broken.tokens if token.kind == "name")
    for line in broken.suspects:
        some = broken.within(line)
        opened, closed = _balance(some)
        found += _closed(broken, line, some, opened)
        found += _opened(broken, line, some, closed)
        found += _split(line, some, closed, known)
        found += _exchanged(broken, line, some, opened, closed)
    return found


def _balance(some: list[Token]) -> tuple[list[Token], list[Token]]:
    """The brackets of a line that have no partner there: those that open, those that close."""
    stack: list[Token] = []
    loose: list[Token] = []
    for token in some:
        if token.kind != "sign":
            continue
        if token.text in OPENERS:
            stack.append(token)
        elif token.text in CLOSERS:
            if stack and stack[-1].text == PARTNER[token.text]:
                stack.pop()
            elif stack and any(one.text == PARTNER[token.text] for one in stack):
                while stack[-1].text != PARTNER[token.text]:
                    stack.pop()
                stack.pop()
                loose.append(token)
            else:
                loose.append(token)
    return (unclosed(tuple(some)) if loose else stack), loose


def _closed(
    broken: Broken, line: Line, some: list[Token], opened: list[Token]
) -> list[Proposal]:
    """A closing bracket at the line's end, before its colon, or behind any value in it."""
    found = []
    code = [token for token in some if token.kind != "comment"]
    if not code:
        return []
    inner = opened[-1] if opened else None
    over_lines = [one for one in broken.open_brackets if one.start < line.start]
    ends = {token.end for token in code if token.ends_operand or token.text == ","}
    ends |= {token.end for token in code if token.text in OPENERS}
    final = code[-2].end if len(code) > 1 and code[-1].text == ":" else code[-1].end
    ends.add(final)
    for kind, closing in zip(OPENERS, CLOSERS, strict=True):
        if inner is not None and inner.text == kind:
            base = 0.45
        elif any(one.text == kind for one in opened):
            base = 0.8
        elif over_lines and over_lines[-1].text == kind:
            base = 0.75
        else:
            base = 2.0
        for place in sorted(ends):
            if inner is not None and base < 0.8 and place < inner.end:
                continue
            previous = next(token for token in code if token.end == place)
            extra = 0.0 if place == final else 0.12
            if previous.text == ",":
                extra += 0.8
            if place != final:
                extra += 0.4 * broken.away(place, line)
            found.append(Proposal(base + extra + line.distance, place, place, closing))
        if code[-1].text == "," and base < 1.0:
            found.append(Proposal(base + 0.05 + line.distance, code[-1].start, code[-1].start,
                                  closing))
    if len(opened) > 1:
        closing = "".join(PARTNER[one.text] for one in reversed(opened))
        found.append(Proposal(0.46 + line.distance, final, final, closing))
    everything = broken.open_brackets
    if everything and line.index == broken.index:
        closing = "".join(PARTNER[one.text] for one in reversed(everything))
        last = broken.above(len(broken.lines))
        if last is not None:
            end = broken.starts[last] + len(broken.lines[last].rstrip())
            found.append(Proposal(0.5, end, end, closing))
    return found


def _opened(
    broken: Broken, line: Line, some: list[Token], closed: list[Token]
) -> list[Proposal]:
    """An opening bracket before any value: rather as a call than as a group."""
    found = []
    for kind, closing in zip(OPENERS, CLOSERS, strict=True):
        partner = next((one for one in closed if one.text == closing), None)
        base = 0.5 if partner is not None else 2.1
        starts = [
            (place, token) for place, token in enumerate(some)
            if token.begins_operand or token.text == closing or token.kind == "name"
        ]
        for place, token in starts:
            if partner is not None and token.start > partner.start:
                continue
            before = some[place - 1] if place else None
            extra = 0.1
            if kind == "(" and before is not None:
                called = before.kind == "name" and not before.is_keyword
                extra = 0.0 if called and before.text in _BUILTINS else 0.05 if called else 0.2
            elif kind == "[":
                value = before is not None and before.ends_operand
                extra = 0.02 if value or before is None or before.text in (
                    "=", "in", "return", "(", ",", "+", "[") else 0.2
            glued = before is not None and before.end == token.start
            extra += 0.0 if glued or kind != "(" else 0.05
            extra += 0.3 if token.text == closing else 0.0
            away = broken.away(token.start, line)
            found.append(Proposal(base + extra + 0.25 * away + line.distance, token.start,
                                  token.start, kind))
            if before is not None and before.end < token.start and before.ends_operand:
                found.append(Proposal(base + extra + 0.25 * away + line.distance, before.end,
                                      token.start, kind))
    return found


def _split(
    line: Line, some: list[Token], closed: list[Token], known: frozenset[str]
) -> list[Proposal]:
    """A name that is two known names with a bracket between them left out."""
    found: list[Proposal] = []
    for kind, closing in zip(OPENERS, CLOSERS, strict=True):
        if not any(one.text == closing for one in closed):
            continue
        for place, token in enumerate(some):
            if token.kind != "name" or token.is_keyword:
                continue
            for cut in range(1, len(token.text)):
                left, right = token.text[:cut], token.text[cut:]
                attribute = place > 0 and some[place - 1].text == "."
                likely = left in known
                whole = right in known or right.isdigit()
                if (likely and whole) or (attribute and whole and len(right) > 1) or (
                        whole and some[0].text in ("def", "class") and place == 1):
                    at = token.start + cut
                    cost = 0.5 if likely and whole else 0.6
                    found.append(Proposal(cost + line.distance, at, at, kind))
                elif likely and len(left) > 2 and left in _BUILTINS:
                    at = token.start + cut
                    found.append(Proposal(0.9 + line.distance, at, at, kind))
    return found


def _exchanged(
    broken: Broken, line: Line, some: list[Token], opened: list[Token], closed: list[Token]
) -> list[Proposal]:
    """A bracket dropped, or of another kind."""
    found = []
    stack: list[Token] = list(broken.open_brackets) if line.index == broken.index else []
    stack = [one for one in stack if one.start < line.start]
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
        loose = token in opened or token in closed
        found.append(Proposal((0.55 if loose else 2.0) + away, token.start, token.end, ""))
        kin = OPENERS if token.text in OPENERS else CLOSERS
        partner = pairs.get(token.start)
        for other in kin:
            if other == token.text:
                continue
            fits = partner is not None and PARTNER[other] == partner.text
            cost = 0.4 if fits else 1.2 if loose else 2.0
            found.append(Proposal(cost + away, token.start, token.end, other))
    return found
