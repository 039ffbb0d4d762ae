"""Examples that a user wrote among words: `f(2, 3) == 5`, `f([1]) -> [1]`, `f(2) returns 4`.

Only what is beyond doubt becomes a test: a call by a bare name with literal arguments and
a literal answer, in a sentence that does not tell of a bug. "f(2) returns 5 instead of 4"
says what is wrong, so it is left out; "f(2) should return 4" says what is right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.core.domain import Example, Raises, TestCase
from agent.core.trees import expression, is_literal
from agent.intake.found.doctests import tests_from_prompts
from agent.intake.parsing import BUILTIN_NAMES, is_plain_call, shortened, unique

_CALL_HEAD = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(")
_WANTED = re.compile(
    r"\s*(?:(?:should|must|has to|needs to|ought to)\s+(?:return|give|be|equal|yield|produce|"
    r"evaluate to)|(?:is|are)\s+expected\s+to\s+(?:return|be|give|equal))(?:\s*:)?\s*"
)
_STATED = re.compile(
    r"\s*(?:===?|->|=>|→|⇒|(?:returns|gives|yields|equals|evaluates to|produces|is)\b(?!\s+not\b)"
    r"(?:\s*:)?|=(?!=))\s*"
)
_RAISES = re.compile(
    r"\s*(?:(?:should|must|has to)\s+raise|raises)\s+(?:an?\s+)?`?([A-Za-z_]\w*)`?"
)
_DOUBT = re.compile(
    r"\b(?:but|instead|not|wrong|wrongly|incorrect|incorrectly|currently|actually|bug|buggy|"
    r"however|although|unexpectedly|never|fails?|failing|broken|now|whereas|rather|if|when|"
    r"unless)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|never|no longer)\b", re.IGNORECASE)
_GOES_ON = re.compile(
    r"[\s`'\"*_]*(?:$|,(?!\s*[\d'\"\[({-])|[.;:)\]!?(#\u2013\u2014]|-\s|(?:and|because|since|while)\b)"
)
_CONTRAST = re.compile(r"[\s`'\"*_]*,?\s*(?:but|not|instead|rather|yet|when|if)\b")
_LONGEST_CALL = 2_000
_LONGEST_TEXT = 200_000


@dataclass(frozen=True)
class _FoundCall:
    """A call found in the text: its source, and where it starts and ends."""

    source: str
    start: int
    end: int


def tests_from_words(
    text: str, names: frozenset[str] | None = None
) -> tuple[TestCase, ...]:
    """The examples in the words, origin `user`; with `names`, only calls of those functions."""
    text = text[:_LONGEST_TEXT]
    prompts = "\n".join(_prompt_blocks(text))
    taken: set[str] = set()
    tests: list[TestCase] = [
        test for test in tests_from_prompts(prompts, origin="task")
        if names is None or _head(test) in names
    ]
    taken |= {test.name for test in tests}
    plain = re.sub(r"^\s*>>>.*(?:\n(?!\s*$|\s*>>>).*)*", "", text, flags=re.MULTILINE)
    for call in _calls(plain):
        head = call.source.partition("(")[0]
        if names is not None and head not in names:
            continue
        test = _test(plain, call, taken)
        if test is not None and not any(test.code == other.code for other in tests):
            tests.append(test)
    return tuple(tests)


def _head(test: TestCase) -> str:
    found = _CALL_HEAD.search(test.name)
    return found.group(1) if found else ""


def _prompt_blocks(text: str) -> Iterator[str]:
    """Blocks of `>>>` lines with their answers, each at column 0."""
    for match in re.finditer(r"^([ \t]*)>>> .*(?:\n(?!\s*$|\s*```).*)*", text, re.MULTILINE):
        indent = len(match.group(1))
        yield "\n".join(line[indent:] for line in match.group(0).split("\n")) + "\n"


def _calls(text: str) -> Iterator[_FoundCall]:
    """Calls with literal arguments, outermost first, none inside another."""
    behind = 0
    for head in _CALL_HEAD.finditer(text):
        end = _closing(text, head.end()) if head.start() >= behind else None
        source = text[head.start() : end] if end is not None else ""
        if end is not None and is_plain_call(expression(source)):
            behind = end
            yield _FoundCall(" ".join(source.split("\n")), head.start(), end)


def _closing(text: str, start: int) -> int | None:
    """The place after the bracket that closes the one before `start`."""
    depth, quote = 1, ""
    for place in range(start, min(len(text), start + _LONGEST_CALL)):
        character = text[place]
        if quote:
            if character == quote and text[place - 1] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
            if not depth:
                return place + 1
    return None


def _test(text: str, call: _FoundCall, taken: set[str]) -> TestCase | None:
    rest = text[call.end :]
    rest = rest[1:] if rest.startswith("`") else rest
    before, after = _sentence(text, call)
    raised = _RAISES.match(rest)
    if raised and raised.group(1) in BUILTIN_NAMES and not _DOUBT.search(before):
        name = unique(shortened(f"{call.source} raises {raised.group(1)}"), taken)
        return Raises(name=name, origin="task", call=call.source, exception=raised.group(1))
    wanted = _WANTED.match(rest)
    told = wanted is not None
    if wanted is not None:
        if _NEGATED.search(before) and not re.search(r"[,;:]", before):
            return None
    else:
        wanted = _STATED.match(rest)
        if wanted is None or _DOUBT.search(before) or _DOUBT.search(after):
            return None
    expected = _literal(rest[wanted.end() :], told=told)
    if expected is None:
        return None
    name = unique(shortened(f"{call.source} == {expected}"), taken)
    return Example(name=name, origin="task", call=call.source, expected=expected)


def _sentence(text: str, call: _FoundCall) -> tuple[str, str]:
    """The words of the call's sentence before and after it."""
    start = max((m.end() for m in re.finditer(r"[.!?]\s+|\n", text[: call.start])), default=0)
    tail = re.compile(r"[.!?](?:\s|$)|\n").search(text, call.end)
    return text[start : call.start], text[call.end : tail.start() if tail else len(text)]


def _literal(text: str, *, told: bool) -> str | None:
    """The literal that the text begins with, if the sentence does not go on in doubt.

    After what should be, a contrast tells of the bug and is no doubt.
    """
    ticked = text.startswith("`")
    line = text[1:].partition("`")[0] if ticked else _balanced_line(text)
    for end in range(len(line), 0, -1):
        part = line[:end].rstrip()
        if not part or part[-1] in ".,;:":
            continue
        node = expression(part)
        if node is None or not is_literal(node):
            continue
        if isinstance(node, ast.Tuple) and not part.startswith("("):
            continue
        following = "" if ticked else line[len(part) :]
        clear = _GOES_ON.match(following) or (told and _CONTRAST.match(following))
        return ast.unparse(node) if clear else None
    return None


def _balanced_line(text: str) -> str:
    """The first line, and on while brackets are open, within reason."""
    depth = 0
    for place, character in enumerate(text[:_LONGEST_CALL]):
        depth += (character in "([{") - (character in ")]}")
        if character == "\n" and depth <= 0:
            return text[:place]
    return text[:_LONGEST_CALL]
