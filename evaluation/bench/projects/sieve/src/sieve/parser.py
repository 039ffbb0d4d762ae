"""Make a tree of tokens, by binding powers (Pratt 1973).

Nodes are tuples: ("value", x), ("field", "a.b"), ("not", node), ("call", name, nodes),
("list", nodes), ("between", node, low, high) and (operator, left, right).
"""

import datetime

from sieve.errors import SyntaxProblem
from sieve.tokens import tokens

#: operator -> (binding power, whether it groups to the right)
POWERS = {
    "or": (10, False),
    "and": (20, False),
    "==": (40, False),
    "!=": (40, False),
    "<": (40, False),
    "<=": (40, False),
    ">": (40, False),
    ">=": (40, False),
    "in": (40, False),
    "not in": (40, False),
    "matches": (40, False),
    "=~": (40, False),
    "between": (40, False),
    "+": (50, False),
    "-": (50, False),
    "*": (60, False),
    "/": (60, False),
    "%": (60, False),
    "**": (80, True),
}
NOT_POWER = 30
MINUS_POWER = 70
CONSTANTS = {"true": True, "false": False, "null": None}
SYNONYMS = {"=~": "matches"}


class Parser:
    """Reads one rule."""

    def __init__(self, text):
        self.text = text
        self.tokens = list(tokens(text))
        self.place = 0

    @property
    def current(self):
        """The token that is read next."""
        return self.tokens[self.place]

    def problem(self, reason):
        """An error at the current token."""
        return SyntaxProblem(reason, self.text, self.current.position)

    def take(self, value=None):
        """Step over the current token; raises SyntaxProblem where it is not the given sign."""
        token = self.current
        if value is not None and (token.kind not in ("sign", "word") or token.value != value):
            raise self.problem(f"expected {value!r}")
        self.place += 1
        return token

    def rule(self):
        """The tree of the whole text."""
        if self.current.kind == "end":
            raise self.problem("the rule is empty")
        node = self.expression(0)
        if self.current.kind != "end":
            raise self.problem("expected the end")
        return node

    def operator(self):
        """The operator that comes next, or None."""
        token = self.current
        if token.kind not in ("sign", "word"):
            return None
        if token.value == "not" and self.tokens[self.place + 1].value == "in":
            return "not in"
        return token.value if token.value in POWERS else None

    def expression(self, power):
        """A tree of operators that bind more than `power`."""
        left = self.primary()
        while operator := self.operator():
            strength, to_the_right = POWERS[operator]
            if strength <= power:
                break
            for _ in operator.split():
                self.take()
            if operator == "between":
                low = self.expression(strength)
                self.take("and")
                left = ("between", left, low, self.expression(strength))
                continue
            right = self.expression(strength - to_the_right)
            left = (SYNONYMS.get(operator, operator), left, right)
        return left

    def primary(self):
        """A value, a field, a call, a list, or something in brackets."""
        token = self.take()
        match token.kind, token.value:
            case ("number" | "text"), value:
                return ("value", value)
            case "date", value:
                return ("value", self.date(value))
            case "word", ("true" | "false" | "null") as word:
                return ("value", CONSTANTS[word])
            case "word", "not":
                return ("not", self.expression(NOT_POWER))
            case "sign", "-":
                return ("-", ("value", 0), self.expression(MINUS_POWER))
            case "sign", "(":
                node = self.expression(0)
                self.take(")")
                return node
            case "sign", "[":
                return ("list", self.items("]"))
            case "name", name:
                if self.current.kind == "sign" and self.current.value == "(":
                    self.take()
                    return ("call", name, self.items(")"))
                return ("field", name)
        self.place -= 1
        raise self.problem("expected a value")

    def date(self, text):
        """The date of a token; raises SyntaxProblem."""
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            self.place -= 1
            raise self.problem("no such date") from None

    def items(self, closing):
        """Expressions with commas between them, up to the closing sign; a last comma may stand."""
        nodes = []
        while not (self.current.kind == "sign" and self.current.value == closing):
            nodes.append(self.expression(0))
            if self.current.value != ",":
                break
            self.take()
        self.take(closing)
        return tuple(nodes)


def parse(text):
    """The tree of a rule; raises SyntaxProblem."""
    return Parser(text).rule()
