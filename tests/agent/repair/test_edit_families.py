"""One pair of programs for each family of edits: what was written, and what was meant."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from agent.repair.edits import EDITS, single_edits
from agent.repair.facts import Crash
from agent.repair.program import Program, spliced

MARK = re.compile("«([^»]*)»«([^»]*)»")
ABOVE = "größe = 'ä'  # kept\n"

FAMILIES = [
    ("all of a sequence", None, """
def digits(number):
    return «[int(one) for one in str(number)][0]»«sum([int(one) for one in str(number)])»
"""),
    ("joined or unique", None, """
def unique(items):
    return «list(set(items))»«list(dict.fromkeys(items))»
"""),
    ("order", None, """
def best(scores):
    return max(scores«»«, key=scores.get»)
"""),
    ("spelling of answers", None, """
def check(a, b):
    if a > b:
        return «"yes"»«"Yes"»  # bigger
    return «'no'»«'No'»
"""),
    ("repeated list", None, """
def grid(w, h):
    return «[[0] * w] * h»«[[0] * w for _ in range(h)]»
"""),
    ("copy", None, """
def extended(items, x):
    out = «items»«items[:]»
    out.append(x)
    return out
"""),
    ("nothing kept", None, """
def ordered(items):
    «items = items.sort()»«items.sort()»
    return items
"""),
    ("nothing returned", None, """
def ordered(items):
    return «items.sort()»«sorted(items)»
"""),
    ("dropped result", None, """
def tidy(text):
    «text.strip()»«text = text.strip()»
    return text.upper()
"""),
    ("not called", None, """
def shout(text):
    return text.upper«»«()»
"""),
    ("not called", None, """
class Base:
    def area(self):
        return 2

class Wide(Base):
    def area(self):
        return «super»«super()».area() * 2
"""),
    ("format string", None, """
def label(n):
    return «'no {n}'»«f'no {n}'»
"""),
    ("date format", None, """
from datetime import datetime
def parsed(text):
    return datetime.strptime(text, «'%H:%m'»«'%H:%M'»).minute
"""),
    ("expected exception", Crash("ValueError", "invalid literal for int()", 3), """
def number(text):
    try:
        return int(text)
    except «TypeError»«ValueError»:
        return 0
"""),
    ("attempt", Crash("ValueError", "invalid literal for int()", 2), """
def number(text):
    «return int(text)»«try:
        return int(text)
    except ValueError:
        return None»
"""),
    ("self", None, """
class Counter:
    def __init__(self):
        self.count = 0

    def bump(self):
        «count»«self.count» += 1
        return self.count
"""),
    ("field", None, """
class Account:
    def __init__(self, owner):
        «owner»«self.owner» = owner

    def name(self):
        return self.owner
"""),
    ("constructor", None, """
class Account:
    def __init__(self, owner, balance):
        self.owner = owner«»«
        self.balance = balance»

    def rich(self):
        return self.balance > 10
"""),
    ("kind of method", None, """
class Temperature:
    «»«@staticmethod
    »def warm(degrees):
        return degrees > 20
"""),
    ("tie break", None, """
def ordered(words):
    return sorted(words, key=«len»«lambda x: (len(x), x)»)
"""),
    ("library field", None, """
from datetime import date
def days(a, b):
    return (b - a).«seconds»«days»
"""),
    ("class and module",
     Crash("AttributeError", "module 'datetime' has no attribute 'strptime'", 3), """
«import datetime»«from datetime import datetime»
def year(text):
    return datetime.strptime(text, '%Y').year
"""),
    ("crash",
     Crash("AttributeError", "'collections.deque' object has no attribute 'pop_left'", 2,
           ("pop", "popleft")), """
def first(waiting):
    return waiting.«pop_left»«popleft»()
"""),
    ("crash",
     Crash("AttributeError", "'list' object has no attribute 'push'", 2, ("append", "pop")), """
def grown(xs, x):
    xs.«push»«append»(x)
    return xs
"""),
    ("crash",
     Crash("ImportError", "cannot import name 'permutation' from 'itertools' (unknown location)",
           1, ("count", "permutations")), """
from itertools import «permutation»«permutations»
"""),
    ("twin", None, """
def swap_ends(a, b):
    a = a.strip()
«»«    b = b.strip()
»    return b + a
"""),
    ("else branch", None, """
def parts(items):
    small, big = [], []
    for one in items:
        if one < 5:
            small.append(one)
«»«        else:
            big.append(one)
»    return small, big
"""),
    ("comma", None, """
def names():
    return ['änn'«»«,» 'bob', 'cy']
"""),
    ("True and False exchanged", None, """
def all_even(items):
    for one in items:
        if one % 2:
            return «True»«False»  # «a»«a»
    return «False»«True»
"""),
    ("slice", None, """
def windows(items, k):
    return [items[i:«k»«i + k»] for i in range(len(items) - k + 1)]
"""),
    ("operands", None, """
def middle(items):
    return items[«len(items) - 1 // 2»«len(items) // 2 - 1»]
"""),
    ("condition", None, """
def is_small(n):
    return n < 10

def kind(n):
    if n > 0«»« and is_small(n)»:
        return 'digit'
    return 'no'
"""),
]
"""An operator, how the program ended, and the program: «what was written»«what was meant»."""


@pytest.mark.parametrize(
    ("operator", "crash", "marked"), FAMILIES, ids=[one[0] for one in FAMILIES]
)
def test_a_family_reaches_what_was_meant_and_keeps_the_rest(
    operator: str, crash: Crash | None, marked: str
) -> None:
    text = marked.removeprefix("\n")
    buggy = ABOVE + MARK.sub(lambda match: match[1], text)
    meant = ABOVE + MARK.sub(lambda match: match[2], text)
    if crash is not None and crash.line is not None:
        crash = replace(crash, line=crash.line + 1)
    only = tuple(one for one in EDITS if one.name == operator)
    program = Program(buggy, crash=crash)

    edits = single_edits(program, {}, operators=only)

    assert meant in {spliced(program.data, [edit.splice]) for edit in edits}


def test_one_word_of_a_long_condition_is_changed() -> None:
    program = Program("def f(a, b, c):\n    return a and b and c\n")
    found = {edit.splice.text: edit.splice.cost for edit in single_edits(program, {})}

    assert found["a and b or c"] < found["a and (b or c)"]
    assert "a or b and c" in found


def test_many_names_in_reach_make_no_flood_of_conditions() -> None:
    names = [f"name{number}" for number in range(30)]
    body = "\n".join(f"    {name} = g({name})" for name in names)
    program = Program(f"def f({', '.join(names)}):\n{body}\n    return name0\n")
    found = single_edits(program, {})

    per_line = Counter(edit.splice.line for edit in found if edit.operator == "guard")
    assert max(per_line.values()) <= 1_000
