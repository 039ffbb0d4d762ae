"""Translates syntax of other languages and Python 2."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable
from importlib.resources import files

from agent.search.syntax.broken import LONG, Broken, SyntaxEdit
from agent.search.syntax.tokens import tokens

_OPERATORS: dict[str, str] = {
    "&&": "and", "||": "or", "===": "==", "!==": "!=", "=<": "<=", "=>": ">=", "=!": "!=",
}
_HEADS = r"if|elif|else|for|while|def|class|try|except|finally|with|async|match|case"
_FAMILIES: list[list[list[str]]] = [*tomllib.loads(
    files(__package__).joinpath("foreign.toml").read_text(encoding="utf-8")
).values()]
"""Pairs of a regular expression for a line and its replacement."""
_NOT_COMBINED = 3
"""The number of last families that are not combined with others: Python uses their signs too."""


def foreign(broken: Broken) -> list[SyntaxEdit]:
    """Applies each family to the whole text and to suspicious lines, and most families at once."""
    text = broken.text
    found: list[SyntaxEdit] = []
    families: list[Callable[[str], str]] = [
        *(functools.partial(_rewritten, one) for one in _FAMILIES),
        _fix_not, _fix_operators, _drop_braces, _drop_ends, _fix_comments, _lower_keywords,
    ]
    together = text
    fitting = []
    for place, family in enumerate(families):
        new = family(text)
        if new != text:
            fitting.append(family)
            found.append(SyntaxEdit(0.32 + 0.002 * place, 0, len(text), new))
        if family in families[-6:-1] or place < len(_FAMILIES) - _NOT_COMBINED:
            together = family(together)
    if together != text:
        found.append(SyntaxEdit(0.4, 0, len(text), together))
    for line in (line for line in broken.suspect_lines if not line.is_long):
        for family in fitting:
            new = family(line.text)
            if new != line.text and "\n" not in new:
                found.append(line.replaced_with(0.36, new))
    return found


def _rewritten(rewrites: list[list[str]], text: str) -> str:
    """Applies the pairs of a family to each line, except very long ones: the regular expressions
    take quadratic time, which would block a server."""
    def rewritten(line: str) -> str:
        for pattern, new in rewrites if len(line) <= LONG else ():
            line = re.sub(pattern, new, line)
        return line

    return "\n".join(map(rewritten, text.split("\n")))


def _fix_not(text: str) -> str:
    return _outside_strings(text, lambda code: re.sub(r"!\s*(?=[\w(\[])", "not ", code))


def _fix_operators(text: str) -> str:
    def translated(code: str) -> str:
        for sign, word in _OPERATORS.items():
            code = code.replace(f" {sign} ", f" {word} ")
        code = re.sub(r"(?<!\s)\s*&&\s*", " and ", code)
        code = re.sub(r"(?<!\s)\s*\|\|\s*", " or ", code)
        code = code.replace("!==", "!=").replace("===", "==")
        return re.sub(r"(?<=\S) ([<>!=+*/%-]) = ", r" \1= ", code)

    return _outside_strings(text, translated)


def _drop_braces(text: str) -> str:
    """Replaces braces around blocks by colons, and keeps the indentation."""
    lines = []
    for line in text.split("\n"):
        if len(line) > LONG:
            lines.append(line)
            continue
        bare = re.sub(r"^(\s*)\}\s*(?=(?:else|elif|except|finally|catch)\b)", r"\1", line)
        opened = re.sub(r"\s*:?\s*\{\s*$", ":", bare)
        if opened != bare and re.match(rf"\s*(?:{_HEADS}|function|func|fn|switch|catch)\b", bare):
            bare = opened
        if re.fullmatch(r"\s*[{}]+;?\s*", bare):
            continue
        lines.append(bare)
    return "\n".join(lines)


def _drop_ends(text: str) -> str:
    """Removes lines that only end a block."""
    ends = r"\s*(?:end|endif|endfor|endwhile|end if|fi|done|end;)\s*"
    return "\n".join(line for line in text.split("\n") if not re.fullmatch(ends, line))


def _fix_comments(text: str) -> str:
    """Replaces comments between `/*` and `*/` by Python comments."""
    def hashed(match: re.Match[str]) -> str:
        if "\n" not in match.group():
            return ""
        inside = match.group()[2:-2].strip("* \n")
        return "\n".join(f"# {line.strip().lstrip('* ')}" for line in inside.split("\n"))

    end = text.rfind("*/") + 2  # a later `/*` is never closed
    return re.sub(r"/\*.*?\*/", hashed, text[:end], flags=re.DOTALL) + text[end:]


def _lower_keywords(text: str) -> str:
    """Lowercases keywords."""
    words = (f"{_HEADS}|return|import|from|not|and|or|in|is|pass|break|continue|raise|yield|print"
             "|lambda|del|global")

    def lowered(code: str) -> str:
        pattern = rf"(?<![\w.])(?:{words})(?=[\s:(]|$)"
        return re.sub(pattern, lambda match: match[0].lower(), code, flags=re.IGNORECASE)

    return _outside_strings(text, lowered)


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    parts, last = [], 0
    for token in tokens(text):
        if token.kind in ("string", "open string", "comment"):
            parts += [change(text[last : token.start]), token.text]
            last = token.end
    return "".join([*parts, change(text[last:])])
