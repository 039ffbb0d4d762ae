"""Finds examples in a task description: `f(2, 3) == 5`, `f([1]) -> [1]`, `f(2) returns 4`.

Only unambiguous examples become tests, since such a test alone can block a repair: a call by a bare
name with literal arguments and a complete literal result, in an affirmative sentence that does not
describe a bug. "f(2) should return 4" is an example; "f(2) returns 5 instead of 4" and a session
under "I get:" are not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from agent.core.domain import Example, Raises, TestCase
from agent.core.trees import expression, is_literal
from agent.target.discovery.doctests import tests_from_prompts
from agent.target.parsing import BUILTIN_NAMES, is_plain_call, shortened, unique

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
    r"unless|except|unlike|mistake\w*|forbidden|claim(?:s|ed)|naive(?:ly)?|actual|observed|previous|"
    r"previously|formerly|old|otherwise|approximately|roughly|rounded|truncated|"
    r"i (?:get|got|see|saw))\b|n['\u2019]t\b|\b(?:before|today) *:",
    re.IGNORECASE,
)
_EXPECTED = re.compile(r"(?<!as )\bexpected\b", re.IGNORECASE)
_LED = re.compile(
    r"(?:^|[^\w\s]|\b(?:\d+|and|also|so|thus|hence|then|therefore|similarly|examples?|instance|"
    r"assert|check|verify|tests?|expects?|expected|right|correct|of|call|called|calling|inputs?|"
    r"with|means?|like|as|since|because|here|want|"
    r"(?:so|such|note|sure|means?|ensure|check|verify) that))"
    r"[\s`'\"*_]*$",
    re.IGNORECASE,
)
"""Words that may precede a call with a stated result. They rule out "a mistake is f(2) == 5" and
"where f(2) == 5", which contain no word of `_DOUBT`."""
_NEGATED = re.compile(r"\b(?:not|never|no longer)\b", re.IGNORECASE)
_CALL = r"[\s`'\"*]*[A-Za-z_]\w*\("
_CONTINUES = re.compile(
    rf"[\s`'\"*_]*(?:$|,?\s*and(?:\s*$|\s+(?:so|then|also)\b|{_CALL})|,(?:\s*$|{_CALL})|"
    rf",?\s*(?:because|since|while|so|as (?:expected|well)|which|that is)\b|"
    rf"[.:!?](?!\s*=)(?=[\s`'\"*_)\]]|$)|[;)\](#\u2013\u2014]|-\s)"
)
_LITERAL = re.compile(r"[\d.'\"\[({+-]|[A-Za-z]{1,2}['\"]|(?:True|False|None|set|frozenset)\b")
_CONTRAST = re.compile(r"[\s`'\"*_]*,?\s*(?:but|not|instead|rather|yet|when|if)\b")
_SESSION = re.compile(r"^([ \t]*)>>>.*(?:\n(?!\s*$|\s*```|[A-Z][\w ]*:\s*$)\1.*)*", re.MULTILINE)
_WORDS_BEFORE = re.compile(r"([^\n]*:)[\s*_]*(?:```\w*\s*)?$|([^\n(]*[\w,])[ \t]*\n[ \t]*$")
_WORDS_BEHIND = re.compile(r"[\s`]*(?:which|that|but|instead|rather|though)\b.*")
_WRAPPED = re.compile(r"\n[ \t]*(?=(?!assert\b)[a-z]+(?:[\s,.;:]|$))")
"""A line that starts with a lower-case word continues the sentence before it."""
_LONGEST_CALL = 2_000
_LONGEST_TEXT = 200_000
_LONGEST_WORDS = 1_000
_MAX_CALLS = 500


@dataclass(frozen=True)
class _FoundCall:
    """A call found in the text, with its start and end."""

    source: str
    start: int
    end: int


def tests_from_words(text: str, names: frozenset[str] | None = None) -> tuple[TestCase, ...]:
    """The examples in a description; with `names`, only calls of those functions."""
    text = text[:_LONGEST_TEXT]
    prompts = "\n".join(islice(_prompt_blocks(text), _MAX_CALLS))
    taken: dict[str, int] = {}
    tests: list[TestCase] = [
        test for test in tests_from_prompts(prompts, origin="task")
        if names is None or _head(test) in names
    ]
    taken |= dict.fromkeys((test.name for test in tests), 1)
    plain = _WRAPPED.sub(" ", _SESSION.sub("", text))
    for call in islice(_calls(plain), _MAX_CALLS):
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
    """Blocks of `>>>` lines with their output at column 0, unless words around express doubt."""
    for match in _SESSION.finditer(text):
        behind = _WORDS_BEHIND.match(text, match.end())
        if _DOUBT.search(f"{_introduced(text, match.start())} {behind.group() if behind else ''}"):
            continue
        indent = len(match.group(1))
        yield "\n".join(line[indent:] for line in match.group(0).split("\n")) + "\n"


def _calls(text: str) -> Iterator[_FoundCall]:
    """Outermost calls with literal arguments, in order."""
    last_end = 0
    for head in islice(_CALL_HEAD.finditer(text), 10 * _MAX_CALLS):
        end = _closing(text, head.end()) if head.start() >= last_end else None
        source = text[head.start() : end] if end is not None else ""
        if end is not None and is_plain_call(expression(source)):
            last_end = end
            yield _FoundCall(" ".join(source.split("\n")), head.start(), end)


def _closing(text: str, start: int) -> int | None:
    """The position after the bracket that closes the one before `start`."""
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


def _test(text: str, call: _FoundCall, taken: dict[str, int]) -> TestCase | None:
    rest = text[call.end : call.end + _LONGEST_TEXT // 10]
    rest = rest[1:] if rest.startswith("`") else rest
    before, after = _sentence(text, call)
    raised = _RAISES.match(rest)
    stated = raised is not None and raised.group().lstrip().startswith("raises")
    if raised and raised.group(1) in BUILTIN_NAMES and not _DOUBT.search(
        before + stated * f" {_introduced(text, call.start - len(before))} {after}"
    ):
        name = unique(shortened(f"{call.source} raises {raised.group(1)}"), taken)
        return Raises(name=name, origin="task", call=call.source, exception=raised.group(1))
    wanted = _WANTED.match(rest)
    is_required = wanted is not None
    if wanted is not None:
        if _NEGATED.search(before) and not re.search(r"[,;:]", before):
            return None
    else:
        wanted = _STATED.match(rest)
        if wanted is None or not _LED.search(before) or _EXPECTED.search(after) or _DOUBT.search(
            f"{_introduced(text, call.start - len(before))} {before} {after}"
        ):
            return None
    expected = _literal(rest[wanted.end() :], is_required=is_required)
    if expected is None:
        return None
    name = unique(shortened(f"{call.source} == {expected}"), taken)
    return Example(name=name, origin="task", call=call.source, expected=expected)


def _sentence(text: str, call: _FoundCall) -> tuple[str, str]:
    """The words of the call's sentence before and after it."""
    first, last = max(0, call.start - _LONGEST_WORDS), call.end + _LONGEST_WORDS
    ends = [end.end() for end in re.finditer(r"[.!?]\s+|\n", text[first : call.start])]
    tail = re.compile(r"[.!?](?:\s|$)|\n").search(text, call.end, last)
    start = first + (ends[-1] if ends else 0)
    return text[start : call.start], text[call.end : tail.start() if tail else last]


def _introduced(text: str, start: int) -> str:
    """The preceding line that introduces a position, by a colon or as an unfinished sentence."""
    found = _WORDS_BEFORE.search(text[max(0, start - _LONGEST_WORDS) : start])
    return (found.group(1) or found.group(2)) if found else ""


def _literal(text: str, *, is_required: bool) -> str | None:
    """The literal at the start of the text, if the rest of the sentence expresses no doubt.

    After a required result ("should return 4") a contrast describes the bug and is no doubt.
    """
    ticked = text.startswith("`")
    line = text[1:].partition("`")[0] if ticked else _balanced_line(text)
    ends: Iterable[int] = range(len(line) if _LITERAL.match(line) else 0, 0, -1)
    if line[:1] in ("(", "[", "{"):
        ends = filter(None, (_closing(line, 1),))
    for end in ends:
        part = line[:end].rstrip()
        if not part or part[-1] in ".,;:":
            continue
        node = expression(part)
        if node is None or not is_literal(node) or part.endswith("..."):
            continue
        if isinstance(node, ast.Tuple) and not part.startswith("("):
            continue
        following = "" if ticked else line[len(part) :]
        is_whole = not any(getattr(value, "value", None) is ... for value in ast.walk(node))
        is_clear = is_whole and (
            _CONTINUES.match(following) or (is_required and _CONTRAST.match(following))
        )
        return ast.unparse(node) if is_clear else None
    return None


def _balanced_line(text: str) -> str:
    """The first line, and further lines while brackets are open, up to `_LONGEST_CALL`."""
    depth = 0
    for place, character in enumerate(text[:_LONGEST_CALL]):
        depth += (character in "([{") - (character in ")]}")
        if character == "\n" and depth <= 0:
            return text[:place]
    return text[:_LONGEST_CALL]
