"""A program whose original text is edited in place, and what is known of it."""

from agent.repair.program.kinds import NUMBERS, SEQUENCES
from agent.repair.program.precedence import (
    AND,
    ATOM,
    BINARY,
    COMPARE,
    COMPARISONS,
    NOT,
    OR,
    UNARY,
    rank,
)
from agent.repair.program.program import Program
from agent.repair.program.scopes import BUILTINS, Function
from agent.repair.program.splice import Splice, spliced

__all__ = [
    "AND",
    "ATOM",
    "BINARY",
    "BUILTINS",
    "COMPARE",
    "COMPARISONS",
    "Function",
    "NOT",
    "NUMBERS",
    "OR",
    "Program",
    "SEQUENCES",
    "Splice",
    "UNARY",
    "rank",
    "spliced",
]
