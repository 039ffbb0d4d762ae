"""Cut a rule into tokens."""

import re
from typing import NamedTuple

from sieve.errors import SyntaxProblem

WORDS = {"and", "or", "not", "in", "matches", "true", "false", "null", "between"}
ESCAPES = {"n": "\n", "t": "\t"}

TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<date>\d{4}-\d{2}-\d{2})
  | (?P<number>\d+(?:_\d+)*(?:\.\d+)?(?P<scale>[kM](?!\w))?)
  | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<name>[A-Za-z_]\w*(?:\.\w+)*)
  | (?P<sign>==|!=|<=|>=|=~|\*\*|[-+*/%<>()\[\],])
    """,
    re.VERBOSE,
)
SCALES = {None: 1, "k": 1000, "M": 1000_000}


class Token(NamedTuple):
    """A piece of a rule: its kind, its value and where it begins."""

    kind: str
    value: object
    position: int


def tokens(text):
    """Yield the tokens of a rule, at the end one of kind "end"."""
    position = 0
    while position < len(text):
        found = TOKEN.match(text, position)
        if not found:
            raise SyntaxProblem("no token", text, position)
        kind, piece = found.lastgroup, found[0]
        if found["number"]:
            value = number(piece.rstrip("kM")) * SCALES[found["scale"]]
            yield Token("number", value, position)
        elif kind == "text":
            yield Token("text", unquoted(piece), position)
        elif kind == "name" and piece.lower() in WORDS:
            yield Token("word", piece.lower(), position)
        elif kind != "space":
            yield Token(kind, piece, position)
        position = found.end()
    yield Token("end", None, len(text))


def number(piece):
    """An int, or a float where there is a point."""
    return float(piece.replace("_", "")) if "." in piece else int(piece.replace("_", ""))


def unquoted(piece):
    """The text of a quoted piece."""
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), piece[1:-1])
