"""A tokenizer that accepts any text, also if it is not Python."""

from __future__ import annotations

import functools
import keyword
import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "number", "string", "open string", "sign", "comment", "newline"]

OPENERS, CLOSERS = "([{", ")]}"
PARTNER = {"(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{"}
_TOKEN = re.compile(
    r'''
    (?P<newline>\n)
  | (?P<comment>\#[^\n]*)
  | (?P<string>(?i:\b[rbuf]{1,2})?(?:"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'
        |"(?!"")(?:[^"\\\n]|\\.)*"|'(?!'')(?:[^'\\\n]|\\.)*'))
  | (?P<open>(?i:\b[rbuf]{1,2})?(?:(?:"""|\'\'\')(?:.*)|["'][^\n]*))
  | (?P<name>[^\W\d]\w*)
  | (?P<number>(?:0[xXoObB]\w+|\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?j?))
  | (?P<sign>===|!==|\*\*=|//=|<<=|>>=|\.\.\.|\*\*|//|==|!=|<=|>=|<>|&&|\|\||\+\+|--
        |->|=>|<<|>>|:=|\+=|-=|\*=|/=|%=|&=|\|=|\^=|@=|\S)
    ''',
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A token and its offsets."""

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def is_keyword(self) -> bool:
        return self.kind == "name" and keyword.iskeyword(self.text)

    @property
    def ends_operand(self) -> bool:
        """Whether an operand can end with this token."""
        if self.kind == "name":
            return not self.is_keyword or self.text in ("None", "True", "False")
        return self.kind in ("number", "string") or self.text in (*CLOSERS, "...")

    @property
    def begins_operand(self) -> bool:
        """Whether an operand can begin with this token."""
        if self.kind == "name":
            return not self.is_keyword or self.text in (
                "None", "True", "False", "not", "lambda", "await", "yield")
        return self.kind in ("number", "string", "open string") or self.text in (
            *OPENERS, "...", "-", "~", "+", "*", "**")


@functools.lru_cache(maxsize=32)
def tokens(text: str) -> tuple[Token, ...]:
    """All tokens in order, without blanks."""
    found = []
    for match in _TOKEN.finditer(text):
        name = match.lastgroup or "sign"
        kind: Kind = "open string" if name == "open" else name  # type: ignore[assignment]
        found.append(Token(kind, match.group(), match.start(), match.end()))
    return tuple(found)


def unclosed(some: tuple[Token, ...]) -> list[Token]:
    """The opening brackets without a closing bracket of the same kind."""
    stack: list[Token] = []
    for token in some:
        if token.text in OPENERS and token.kind == "sign":
            stack.append(token)
        elif token.text in CLOSERS and token.kind == "sign" and stack:
            if stack[-1].text == PARTNER[token.text]:
                stack.pop()
            elif len(stack) > 1 and stack[-2].text == PARTNER[token.text]:
                del stack[-2:]
    return stack
