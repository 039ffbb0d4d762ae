"""How likely each kind of mistake is, and what an operator's edits cost for it.

An edit's cost has three parts: how far-fetched it is within its operator, which the operator
says; how suspicious its line is; and how likely one edit of its operator is the repair, which
stands here. That likelihood is how often the operator gave a repair, shared among the edits it
offers for one program, so an operator that offers hundreds is dear and one that offers a single
edit is cheap. The cost is its negative logarithm: the order of costs is the order of likelihood.

Where the numbers come from, and what they are worth:

- Repairs are counts from published sets alone: which operator gave the right repair of QuixBugs,
  of HumanEvalFix (the development set), of a sample of DebugBench and of a sample of Refactory,
  and which single edit was the developer's own fix in ConDefects. Those of Refactory and of
  ConDefects are mistakes that people made; in the others somebody, or a model, planted the bug.
  None is from a bug of our own. An operator that stands at 0 gave none, or was written after
  those runs and never counted; since 0 does not tell which, two are added to each.
- Offers are means over programs for which an operator offers anything: the development set's, and
  bugs that we planted ourselves, one or more for each operator.
- `WEIGHT` was chosen by where the right edit came among all edits of those same programs.

So the planted bugs are not unseen: whoever planted them knew the operators. How early the right
edit comes in them, or in the development set, says nothing of other programs.
"""

from __future__ import annotations

import math

PRIORS: dict[str, tuple[int, int]] = {
    "comparison": (56, 10),
    "comparison and bound": (1, 20),
    "sides of a comparison": (0, 15),
    "arithmetic": (25, 14),
    "operands": (4, 7),
    "augmented assignment": (10, 17),
    "and, or": (3, 4),
    "sign or not": (0, 2),
    "negation": (2, 2),
    "constant condition": (0, 3),
    "conditional expression": (0, 3),
    "number": (46, 42),
    "True, False": (2, 70),
    "None": (0, 14),
    "string": (6, 90),
    "constant everywhere": (0, 4),
    "variable": (32, 16),
    "assigned variable": (4, 9),
    "variable everywhere": (0, 6),
    "function": (1, 6),
    "method": (6, 6),
    "attribute": (1, 2),
    "attribute of": (0, 2),
    "element of": (0, 70),
    "arguments": (8, 8),
    "idiom": (0, 7),
    "range": (0, 15),
    "call unwrapped": (12, 3),
    "value wrapped": (9, 102),
    "index": (3, 14),
    "slice": (1, 10),
    "elements": (2, 8),
    "initial value": (8, 15),
    "filter": (2, 26),
    "off by one": (44, 10),
    "operand added": (15, 136),
    "expression from nearby": (14, 117),
    "simpler expression": (0, 40),
    "condition": (5, 573),
    "negative": (0, 1),
    "neutral if empty": (1, 11),
    "assignment": (2, 15),
    "returned value": (0, 4),
    "unused value": (0, 4),
    "jump": (0, 18),
    "kind of branch": (0, 2),
    "statement dropped": (2, 4),
    "statement moved": (2, 5),
    "branches": (0, 2),
    "missing return": (17, 9),
    "guard at the start": (9, 57),
    "guard": (10, 418),
    "statement inserted": (2, 112),
    "mutable default": (0, 1),
    "outer variable": (0, 1),
    "alternatives": (0, 2),
    "chain": (0, 1),
    "parentheses": (0, 1),
    "reach of not": (0, 1),
    "any order": (0, 1),
    "type test": (0, 8),
    "late binding": (0, 1),
    "repeated list": (0, 1),
    "copy": (0, 2),
    "copy of what is kept": (0, 2),
    "used once": (0, 1),
    "shadowed name": (0, 2),
    "nothing kept": (0, 2),
    "nothing returned": (0, 2),
    "dropped result": (0, 1),
    "method not called": (0, 1),
    "function not called": (0, 1),
    "joined or unique": (0, 2),
    "comma": (0, 1),
    "tuple of one": (0, 2),
    "format string": (0, 1),
    "date format": (0, 4),
    "expected exception": (0, 2),
    "attempt": (0, 8),
    "end of a loop": (0, 1),
    "reset in a loop": (0, 2),
    "exchange": (0, 1),
    "loop by index": (0, 1),
    "both bounds": (0, 6),
    "self": (0, 1),
    "field": (0, 1),
    "constructor": (0, 2),
    "parent's method": (0, 3),
    "kind of method": (0, 2),
    "shared field": (0, 1),
    "order": (0, 11),
    "tie break": (0, 11),
    "library field": (0, 4),
    "factory": (0, 3),
    "default of a dictionary": (0, 4),
    "qualified name": (0, 1),
    "class and module": (0, 2),
    "another case": (0, 2),
    "all orders": (0, 3),
    "another check": (0, 40),
    "all of a sequence": (0, 4),
    "one of a sequence": (0, 2),
    "twin": (0, 6),
    "else branch": (0, 18),
    "check after": (0, 52),
    "True and False exchanged": (0, 1),
    "spelling of answers": (0, 2),
    "another variable converted": (0, 21),
    "observed case": (0, 123),
    "observed bound": (0, 5),
    "observed difference": (0, 3),
    "observed term": (0, 1),
    "observed word": (0, 2),
    "crash": (14, 27),
}
"""Repairs that an operator gave, and edits that it offers for one program."""

NEVER_COUNTED = 2
WEIGHT = 0.1
"""How much of the logarithm is added. The operators' own costs were set with frequencies in
mind, so most of it is in them; more weight ranks the development set's repairs later."""


def prior(operator: str) -> float:
    """What is added to the cost of each edit of an operator."""
    return WEIGHT * rarity(operator)


def rarity(operator: str) -> float:
    """How unlikely one edit of an operator is to be the repair: its negative log likelihood."""
    repairs, offers = PRIORS[operator]
    return -math.log((repairs + NEVER_COUNTED) / offers)
