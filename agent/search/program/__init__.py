"""Programs whose original text is edited in place."""

from agent.search.program.program import NUMBERS, SEQUENCES, Program
from agent.search.program.scopes import BUILTINS, Function, names_in, parameters
from agent.search.program.source import (
    AND,
    ATOM,
    BINARY,
    COMPARE,
    COMPARISONS,
    NOT,
    OR,
    UNARY,
    Splice,
    rank,
    spliced,
)

__all__ = [
    "AND", "ATOM", "BINARY", "BUILTINS", "COMPARE", "COMPARISONS", "Function", "NOT", "NUMBERS",
    "OR", "Program", "SEQUENCES", "Splice", "UNARY", "names_in", "parameters", "rank", "spliced",
]
