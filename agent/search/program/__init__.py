"""Programs whose original text is edited in place."""

from agent.search.program.program import NUMBERS, SEQUENCES, Program
from agent.search.program.scopes import BUILTINS, Function, parameters, variable_names
from agent.search.program.source import BINARY, COMPARISONS, Precedence, Splice, rank, spliced

__all__ = [
    "BINARY", "BUILTINS", "COMPARISONS", "Function", "NUMBERS", "Precedence", "Program",
    "SEQUENCES", "Splice", "variable_names", "parameters", "rank", "spliced",
]
