"""A small language of rules that pick records.

    state == "open" and (age > 30 or owner.name in ["mia", "ben"])

`compile_rule` gives a `Rule`, which is called with a record; `pick` sifts many of them.
"""

from sieve.errors import RuleError, SyntaxProblem, UnknownName
from sieve.rule import Rule, compile_rule, pick

__all__ = ["Rule", "RuleError", "SyntaxProblem", "UnknownName", "compile_rule", "pick"]
