"""One pair of programs for each family of edits: what was written, and what was meant; and edits
made from what the variables held."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from agent.repair.edits import EDITS, single_edits
from agent.repair.facts import Crash, Moment
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


def proposed(operator: str, program: Program) -> list[str]:
    """The texts that an operator proposes, the cheapest first."""
    only = tuple(one for one in EDITS if one.name == operator)
    return [
        spliced(program.data, [edit.splice])
        for edit in single_edits(program, {}, operators=only)
    ]


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
    assert meant in proposed(operator, Program(buggy, crash=crash))


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


def ages(line: int, failing: tuple[int, ...], passing: tuple[int, ...]) -> tuple[Moment, ...]:
    found = [(age, False) for age in failing] + [(age, True) for age in passing]
    return tuple(Moment(line, passed, (("age", str(age)),)) for age, passed in found)


def observed(operator: str, source: str, *moments: Moment) -> list[str]:
    """What an operator proposes where the variables held this while the tests ran."""
    types = {"age": frozenset({"int"})}
    return proposed(operator, Program(source, types=types, moments=moments))


FARE = "def fare(age):\n    if age < 6:  # small\n        return 0\n    return 10\n"


def test_a_condition_that_tells_failing_runs_apart_comes_first() -> None:
    edited = observed("condition", FARE, *ages(2, (66, 70), (3, 65)))

    assert FARE.replace("age < 6", "age < 6 or age > 65") in edited[:3]


def test_what_holds_in_failing_runs_alone_is_answered_by_a_neutral_value() -> None:
    source = "def ticket(age, base):\n    return base * 2\n"
    edited = observed("observed case", source, *ages(2, (3, 5), (6, 30)))

    assert source.replace(
        "    return base", "    if age < 6:\n        return 0\n    return base"
    ) in edited
    assert not any("return 5" in text or "return 3" in text for text in edited)


def test_a_single_failing_value_is_no_condition() -> None:
    source = "def ticket(age, base):\n    return base * 2\n"

    assert not any("age == 17" in text for text in observed(
        "observed case", source, *ages(2, (17,), (6, 30))
    ))


def test_a_key_is_one_that_the_dictionaries_have() -> None:
    source = "def oldest(people):\n    return max(people, key=lambda p: p[\"name\"])\n"
    held = (("people", "[{'name': 'a', 'age': 2}]"),)

    assert observed("observed word", source, Moment(2, False, held)) == [
        source.replace('"name"', '"age"')
    ]
