"""Evaluate trees on records."""

import functools
import operator
import re

from sieve.errors import Unfit
from sieve.functions import call
from sieve.parser import parse

BINARY = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "**": operator.pow,
}
ORDER = {"<", "<=", ">", ">="}


def lookup(record, path):
    """A field of a record, by steps; None where a step leads nowhere.

    A step is a key, an attribute, or a number for a place in a list.
    """
    value = record
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, (list, tuple)):
            place = int(step) if step.isdigit() else len(value)
            value = value[place] if place < len(value) else None
        else:
            value = getattr(value, step, None)
        if value is None:
            return None
    return value


def evaluate(node, record):
    """The value of a tree for a record."""
    match node:
        case ("value", value):
            return value
        case ("field", path):
            return lookup(record, path)
        case ("not", inner):
            return not evaluate(inner, record)
        case ("list", items):
            return [evaluate(item, record) for item in items]
        case ("call", name, items):
            return call(name, [evaluate(item, record) for item in items])
        case ("and", left, right):
            return bool(evaluate(left, record) and evaluate(right, record))
        case ("or", left, right):
            return bool(evaluate(left, record) or evaluate(right, record))
        case ("between", inner, low, high):
            value = evaluate(inner, record)
            return value is not None and evaluate(low, record) <= value <= evaluate(high, record)
        case (sign, left, right):
            return binary(sign, evaluate(left, record), evaluate(right, record))


def binary(sign, left, right):
    """The value of an operator; order with nothing is false, other misfits raise Unfit."""
    if sign in ORDER and (left is None or right is None):
        return False
    if sign in ("in", "not in"):
        found = right is not None and contains(right, left)
        return found == (sign == "in")
    if sign == "matches":
        return left is not None and bool(pattern(right).search(str(left)))
    try:
        return BINARY[sign](left, right)
    except (TypeError, ZeroDivisionError) as error:
        raise Unfit(f"{left!r} {sign} {right!r}: {error}") from None


def contains(whole, part):
    """Whether a list has an item, or a text a part, whatever its case."""
    if isinstance(whole, str):
        return str(part).casefold() in whole.casefold()
    return part in whole


@functools.lru_cache(maxsize=256)
def pattern(text):
    """A compiled pattern; "/x/i" takes the case of letters lightly."""
    found = re.fullmatch(r"/(.*)/(i?)", text, re.DOTALL)
    if found:
        return re.compile(found[1], re.IGNORECASE if found[2] else 0)
    return re.compile(text)


class Rule:
    """A compiled rule, to be called with a record."""

    def __init__(self, text):
        self.text = " ".join(text.split())
        self.tree = parse(text)

    def __call__(self, record):
        """Whether the record is picked."""
        return bool(evaluate(self.tree, record))

    @property
    def fields(self):
        """The fields that a rule looks at, in order of name."""
        found, waiting = set(), [self.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, tuple) and node and node[0] == "field":
                found.add(node[1])
            elif isinstance(node, tuple):
                waiting.extend(node)
        return sorted(found)

    def __and__(self, other):
        return Rule(f"({self.text}) and ({other.text})")

    def __or__(self, other):
        return Rule(f"({self.text}) or ({other.text})")

    def __repr__(self):
        return f"Rule({self.text!r})"


@functools.cache
def compile_rule(text):
    """The rule of a text, made once."""
    return Rule(text)


def pick(records, text, limit=None):
    """Yield the records that a rule picks, at most `limit` of them."""
    rule = compile_rule(text)
    count = 0
    for record in records:
        if limit is not None and count >= limit:
            return
        if rule(record):
            count += 1
            yield record
