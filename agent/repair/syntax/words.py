"""Single words and signs: misspelt, doubled, left out, or taken for their neighbours."""

from __future__ import annotations

import functools
import keyword
import re

from agent.repair.syntax.broken import Broken, Line, Proposal
from agent.repair.syntax.tokens import CLOSERS, OPENERS, Token

_STATEMENTS = ("return", "while", "import", "from", "def", "for", "elif", "else", "if", "class",
               "try", "except", "finally", "with", "raise", "pass", "break", "continue", "yield",
               "print", "del", "global", "assert", "async", "nonlocal")
_INNER = ("in", "not", "and", "or", "is", "lambda", "else", "if", "for", "None", "True", "False",
          "import", "as", "await", "from", "yield")
_OPENING = ("if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally",
            "with", "async", "match", "case")
_NEVER = "$?`!\\;~@"
_ANOTHER: dict[str, tuple[str, ...]] = {
    "=": ("==", ":", "-", ":="), "==": ("=",), ",": (":", ".", "=", ""), ".": (",", ":", ""),
    ";": (":", ","), ":": ("=", ",", ":=", "", ";"), ":=": ("=", "=="), "<-": ("=",),
    "->": (":", "."), "=>": (":", ">=", "="), "<>": ("!=",), "{": (":",), "}": ("",),
    "null": ("None",), "nil": ("None",), "xor": ("^",), "^": ("**",), "/": ("//",), "|": ("or",),
    "&": ("and",), "then": (":", ""), "do": (":", ""), "elseif": ("elif",), "elsif": ("elif",),
    "async": ("",), "await": ("",), "switch": ("match",), "as": ("=",), "*": ("",), "!": ("not ",),
    "+": (",",), "-": ("_", "="), "not": ("",), "is": ("==",), "of": ("in",), "on": ("in",),
}
"""A token, and what may have been meant by it."""
_INSERTED = (",", ":", ".", "=", " in ", " + ", " == ", " and ", " * ", " - ", " not ", " if ",
             " else ", " or ", " as ", "*", " import ", " % ", " += ")


def words(broken: Broken) -> list[Proposal]:
    """Every edit of one word or sign near the fault."""
    found: list[Proposal] = []
    for line in broken.suspects:
        some = broken.within(line)
        found += _colon(broken, line, some)
        found += _misspelt(broken, line, some)
        found += _exchanged(broken, line, some)
        found += _missing(broken, line, some)
        found += _lines(broken, line, some)
    found += _keywords_as_names(broken)
    found += _awaited(broken)
    return found


def _colon(broken: Broken, line: Line, some: list[Token]) -> list[Proposal]:
    """A colon after the head of a block."""
    code = [token for token in some if token.kind != "comment"]
    if not code or code[-1].text == ":":
        return []
    opens = code[0].text in _OPENING
    head = next((token for token in code if token.text not in (")", "}")), code[0])
    below = broken.below(line.index)
    deeper = below is not None and len(broken.lines[below]) - len(
        broken.lines[below].lstrip()) > line.width
    cost = (0.25 if opens and head is code[0] else 1.7) - (0.05 if deeper else 0.0)
    found = [Proposal(cost + line.distance, code[-1].end, code[-1].end, ":")]
    if code[-1].text in (";", ",", ".", "{", "=", "::", "-", "'", '"'):
        found.append(Proposal(cost + 0.08 + line.distance, code[-1].start, code[-1].end, ":"))
    if opens:
        for token in code[1:-1]:
            if token.ends_operand or token.text == "else":
                away = 0.01 * (code[-1].end - token.end)
                found.append(Proposal(0.9 + away + line.distance, token.end, token.end, ":"))
        if code[0].text in ("else", "try", "finally") and len(code) > 1:
            found.append(Proposal(0.4 + line.distance, code[0].end, code[0].end, ":"))
    return found


@functools.cache
def _close(word: str) -> tuple[tuple[float, str], ...]:
    """Keywords one slip away from a word: a letter more, fewer, other, or two exchanged."""
    found = []
    lowered = word.lower()
    for other in dict.fromkeys((*_STATEMENTS, *_INNER)):
        if other == word:
            continue
        if lowered == other.lower():
            found.append((0.0, other))
        elif _is_one_slip(lowered, other.lower()):
            found.append((0.05 if len(other) > 2 else 0.3, other))
        elif len(other) > 4 and sorted(lowered) == sorted(other):
            found.append((0.1, other))
    return tuple(found)


def _is_one_slip(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    if len(one) == len(other):
        differ = [place for place in range(len(one)) if one[place] != other[place]]
        if len(differ) == 2 and differ[1] == differ[0] + 1:
            a, b = differ
            return one[a] == other[b] and one[b] == other[a]
        return len(differ) == 1 and len(one) > 2
    short, long = sorted((one, other), key=len)
    return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))


def _misspelt(broken: Broken, line: Line, some: list[Token]) -> list[Proposal]:
    """A keyword with a slip, glued to its neighbour, or in two pieces."""
    found = []
    for place, token in enumerate(some):
        if token.kind != "name":
            continue
        first = place == 0 or some[place - 1].text in (":", ";", "}")
        away = 0.4 * broken.away(token.start, line) + line.distance
        dotted = place > 0 and some[place - 1].text == "."
        if dotted:
            continue
        for extra, other in _close(token.text):
            if other in _STATEMENTS and other not in _INNER and not first:
                continue
            cost = (0.4 if first and other in _STATEMENTS else 0.6) + extra
            if token.is_keyword:
                cost += 1.0
            found.append(Proposal(cost + away, token.start, token.end, other))
        if token.is_keyword:
            continue
        for head in (*_STATEMENTS, *_INNER):
            if token.text.startswith(head) and len(token.text) > len(head):
                at = token.start + len(head)
                cost = 0.5 if first and head in _STATEMENTS else 1.2
                found.append(Proposal(cost + away, at, at, " "))
            if token.text.endswith(head) and head in _INNER and len(token.text) > len(head):
                at = token.end - len(head)
                left = token.text[: -len(head)]
                cost = 0.6 if keyword.iskeyword(left) else 1.4
                found.append(Proposal(cost + away, at, at, " "))
        following = some[place + 1] if place + 1 < len(some) else None
        if following is not None and following.kind == "name":
            glued = token.text + following.text
            spaced = {"notin": "not in", "isnot": "is not"}.get(glued)
            target = spaced or (glued if keyword.iskeyword(glued) else None)
            if target is not None and broken.text[token.start : following.end] != target:
                found.append(Proposal(0.5 + away, token.start, following.end, target))
    return found


def _exchanged(broken: Broken, line: Line, some: list[Token]) -> list[Proposal]:
    """A token as another, or not at all."""
    found = []
    for place, token in enumerate(some):
        away = broken.away(token.start, line) + line.distance
        before = some[place - 1] if place else None
        following = some[place + 1] if place + 1 < len(some) else None
        for rank, other in enumerate(_ANOTHER.get(token.text, ())):
            cost = 0.9 + 0.15 * rank
            if token.text == "=" and other == "==" and some[0].text in (
                    "if", "elif", "while", "assert", "return"):
                cost = 0.35
            found.append(Proposal(cost + away, token.start, token.end, other))
        doubled = before is not None and before.text == token.text and (
            token.text not in (*OPENERS, *CLOSERS, "not"))
        last = following is None or following.kind == "comment"
        if doubled:
            cost = 0.45
        elif token.text in _NEVER or (token.kind == "sign" and not token.text.isascii()):
            cost = 0.55
        elif token.text in (",", ".", ";") and (last or place == 0):
            cost = 0.6
        elif token.kind == "open string":
            cost = 1.2
        elif last and before is not None and before.text == ":" and some[0].text in _OPENING:
            cost = 0.7
        elif last or place == 0:
            cost = 1.3
        else:
            cost = 1.9
        end = token.end if token.kind != "comment" else token.start
        start = token.start
        if last and before is not None:
            start = before.end
        elif doubled and following is not None:
            end = following.start if broken.text[token.end : following.start].isspace() else end
        found.append(Proposal(cost + away, start, end, ""))
        if following is not None and token.kind == "sign" and following.kind == "sign" and (
                following.start > token.end and token.text + following.text in (
                    "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "//", "**", ":=", "//=", "%=")):
            found.append(Proposal(0.3 + away, token.end, following.start, ""))
        if following is not None and token.text == "=" and following.text in "<>!" and (
                following.text):
            found.append(Proposal(0.35 + away, token.start, following.end, following.text + "="))
        if (token.kind == "number" and following is not None and following.kind == "name"
                and following.start == token.end and not following.is_keyword):
            found.append(Proposal(0.6 + away, token.end, token.end, " * "))
            found.append(Proposal(1.3 + away, following.start, following.end, ""))
    return found


def _missing(broken: Broken, line: Line, some: list[Token]) -> list[Proposal]:
    """A sign or word between two tokens; a value at the end."""
    found = []
    comma = broken.fault.says("comma")
    depth = len([one for one in broken.open_brackets if one.start < line.start])
    for place, token in enumerate(some):
        if token.kind == "comment":
            continue
        depth += (token.text in OPENERS and token.kind == "sign") - (
            token.text in CLOSERS and token.kind == "sign")
        following = some[place + 1] if place + 1 < len(some) else None
        away = broken.away(token.end, line) + line.distance
        gap = following is not None and token.ends_operand and following.begins_operand
        for rank, sign in enumerate(_INSERTED):
            cost = 2.0 + 0.02 * rank
            if gap and following is not None:
                apart = following.start > token.end or following.text not in OPENERS
                if sign == "," and depth > 0:
                    cost = 0.6 if apart else 1.0 if comma else 1.6
                elif sign == ".":
                    named = token.kind == "name" and following.kind == "name"
                    cost = 0.7 if named else 0.55 if token.kind == "string" else 1.5
                elif sign == " in ":
                    cost = 0.45 if some[0].text == "for" or any(
                        one.text == "for" for one in some[:place]) else 1.2
                elif sign == ":":
                    cost = 0.9
                elif sign == "=" and place == 0:
                    cost = 0.8
                elif sign in (" = ", " as "):
                    cost = 1.0
                elif sign == " + " and "string" in (token.kind, following.kind):
                    cost = 0.5 if _raises(some) else 0.7
                else:
                    cost = 1.0 + 0.03 * rank
            elif following is None and depth > 0 and sign == ",":
                cost = 0.65
            end = token.end
            new = sign
            if gap and following is not None and sign.startswith(" "):
                end = following.start
            found.append(Proposal(cost + away, token.end, end, new))
    bare = [token for token in some if token.kind != "comment"]
    if bare:
        found += _value(broken, line, bare)
    return found


def _raises(some: list[Token]) -> bool:
    """Whether a line makes one message of its strings: an error, rather than things to print."""
    return some[0].text in ("raise", "return") or any(
        token.text in ("=", "+=", "+") for token in some)


def _value(broken: Broken, line: Line, some: list[Token]) -> list[Proposal]:
    """A value where an operator has none on its right, or the operator taken away."""
    found = []
    for place, token in enumerate(some):
        following = some[place + 1] if place + 1 < len(some) else None
        needs = token.text in (
            "+", "-", "*", "/", "%", "=", "==", "!=", "<", ">", "<=", ">=", "//", "+=", "-=", "**",
            "and", "or", "not", "in", "is", "return")
        ended = following is None or following.text in (":", ")", "]", "}", ",")
        if not (needs and ended):
            continue
        away = 0.5 * broken.away(token.end, line) + line.distance
        if place:
            found.append(Proposal(0.8 + away, some[place - 1].end, token.end, ""))
        for rank, value in enumerate(("None", "0", "1", "[]", "True", '""')):
            found.append(Proposal(1.1 + 0.02 * rank + away, token.end, token.end, f" {value}"))
    return found


def _lines(broken: Broken, line: Line, some: list[Token]) -> list[Proposal]:
    """A line in two, two lines in one, a line that is a comment, or none."""
    found = []
    indent = line.text[: line.width]
    opens = some[0].text in _OPENING if some else False
    for place, token in enumerate(some[1:], 1):
        before = some[place - 1]
        if token.kind == "comment":
            continue
        starts = token.text in (*_STATEMENTS, "@") or (
            token.kind == "name" and not token.is_keyword)
        ends = before.ends_operand or before.text in ("pass", "break", "continue", "return", ":")
        if starts and ends and before.end < token.start:
            statement = token.text in _STATEMENTS and token.text not in ("if", "else", "for")
            assigned = place + 1 < len(some) and some[place + 1].text in (
                "=", "+=", "-=", ".", "[", "*=", "//=")
            cost = 0.5 if statement or assigned else 0.9
            away = 0.4 * broken.away(token.start, line) + line.distance
            deeper = indent + "    " if before.text == ":" and opens else indent
            found.append(Proposal(cost + away, before.end, token.start, "\n" + deeper))
    below = broken.below(line.index)
    if below is not None and some:
        last = [token for token in some if token.kind != "comment"]
        start = broken.starts[below]
        text = broken.lines[below]
        second = start + len(text) - len(text.lstrip())
        operator = bool(last) and not last[-1].ends_operand and last[-1].text not in (":", ",")
        leading = text.split()[0] in ("and", "or", "if", "else", "in", "is", "not", "for") or (
            text.lstrip()[0] in ".+-*/%<>=")
        cost = 0.5 if operator or leading else 1.6
        gap = "" if text.lstrip().startswith(".") else " "
        found.append(Proposal(cost + line.distance, line.start + len(line.text.rstrip()), second,
                              gap))
        if operator or leading:
            found.append(Proposal(cost - 0.05 + line.distance,
                                  line.start + len(line.text.rstrip()), line.end, " \\"))
    if line.text != line.text.rstrip() and line.text.rstrip().endswith("\\"):
        found.append(line.becomes(0.4, line.text.rstrip()))
    signs = sum(token.kind == "sign" for token in some)
    prose = len(some) > 1 and not opens and (
        all(token.kind == "name" and not token.is_keyword for token in some)
        or signs == len(some))
    found.append(broken.replaced((1.1 if prose else 2.6) + line.distance, line.index,
                                 line.index + 1, ()))
    found.append(line.becomes(3.0, f"{indent}# {line.text.strip()}"))
    return found


def _awaited(broken: Broken) -> list[Proposal]:
    """The function around an `await` made asynchronous, or the `await` taken away."""
    if not broken.fault.says("async", "await"):
        return []
    row = broken.index
    level = len(broken.lines[row]) - len(broken.lines[row].lstrip())
    found = []
    for above in range(row, -1, -1):
        line = broken.lines[above]
        own = len(line) - len(line.lstrip())
        if line.strip() and own < level and line.lstrip().startswith("def "):
            at = broken.starts[above] + own
            found.append(Proposal(0.3, at, at, "async "))
            break
        if line.strip():
            level = min(level, own + 1)
    start = broken.starts[row]
    found += [
        Proposal(0.8, start + match.start(), start + match.end(), "")
        for match in re.finditer(r"\b(?:async|await)\s+", broken.lines[row])
    ]
    return found


def _keywords_as_names(broken: Broken) -> list[Proposal]:
    """A keyword that is used as a name, with an underscore behind it wherever it begins no
    statement."""
    some = [token for token in broken.tokens if token.kind != "comment"]
    places: dict[str, list[Token]] = {}
    names: set[str] = set()
    for place, token in enumerate(some):
        if token.is_keyword and token.text not in ("None", "True", "False", "not", "else"):
            before = some[place - 1] if place else None
            following = some[place + 1].text if place + 1 < len(some) else "\n"
            starts = before is None or before.kind == "newline" or before.text == ":"
            if not starts or following == "=":
                places.setdefault(token.text, []).append(token)
            if following == "=" or (before is not None and (
                    before.text in (".", "def") or (
                        not starts and not before.ends_operand
                        and following in (*CLOSERS, ",", ".", "\n")))):
                names.add(token.text)
    found = []
    for name in sorted(names):
        text = broken.text
        for token in reversed(places[name]):
            text = f"{text[: token.end]}_{text[token.end :]}"
        near = any(abs(broken.row(token.start) - broken.index) < 2 for token in places[name])
        found.append(Proposal(0.5 if near else 1.5, 0, len(broken.text), text))
    return found
