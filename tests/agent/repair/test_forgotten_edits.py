"""What programs of many files forget: one pair of programs for each family of edits, in which what
was meant must also be among the first that the family has."""

import re

import pytest

from agent.project.blame import words_told
from agent.repair.edits import EDITS, single_edits
from agent.repair.facts import Candidate, Crash
from agent.repair.program import Program, spliced
from agent.repair.ranking.rank import unread_variables

MARK = re.compile("«([^»]*)»«([^»]*)»")
EARLY = 30
UNORDERED = Crash("TypeError", "'>' not supported between instances of 'Size' and 'Size'", None)

FAMILIES = [
    ("what may be absent", """
def full(seen, limit):
    return «len(seen) >= limit»«limit is not None and len(seen) >= limit»
"""),
    ("element at hand", """
def fill(jars, left):
    for jar in jars:
        if «left»«left and jar.is_open»:
            left -= jar.room
        jar.is_open = False
    return left
"""),
    ("unread name", """
def parse(text):
    number, shift = read(text)
    return grown(«number»«number - shift»)
"""),
    ("spelling", """
def known(name, names):
    return «name»«name.lower()» in names
"""),
    ("whole part", """
def below(path, folder):
    return «path.startswith(folder)»«path == folder or path.startswith(folder + "/")»
"""),
    ("field added", """
class Tank:
    def __init__(self):
        self.inflows = []
        self.rest = 0

    def level(self):
        return «sum(self.inflows)»«sum(self.inflows) + self.rest»
"""),
    ("variables exchanged", """
def known(names, wanted):
    return ready(names) and all(«one in wanted for one in names»«one in names for one in wanted»)
"""),
    ("flag", """
class Splitter:
    def __init__(self):
        self.is_made = False

    def change(self, word):
        if word == "create":
            «»«self.is_made = True
            »return 0
        return 1 if self.is_made else 2
"""),
    ("begun anew", """
class Handler:
    def __init__(self, kind=dict):
        self.kind = kind
        self.names = kind()

    def start(self, made):
        made["names"] = self.names
«»«        self.names = self.kind()
»        self.depth = 1
"""),
    ("counterpart", """
class Table:
    def update(self, change):
        rows = self.store.read()
        change(rows)
«»«        self.store.write(rows)
»
    def size(self):
        return 0
"""),
    ("variables exchanged", """
def pairs(a, b, c, d):
    return «((a, c), (b, d))»«((a, d), (b, c))»
"""),
    ("order by an element", """
def key(self):
    return (self.name, «self.number»«int(self.number)»)
"""),
    ("order of a loop", """
def newest(events):
    return [one.name for one in «events»«reversed(events)»]
"""),
    ("while for if", """
def rows(cells):
    «if»«while» len(cells) > 3:
        yield cells[:3]
        cells = cells[3:]
    yield cells
"""),
    ("left over", """
def rows(cells):
    row = []
    for cell in cells:
        row.append(cell)
        if len(row) == 3:
            yield row
            row = []
«»«    if row:
        yield row
»"""),
    ("rounds", """
def ahead(day, today):
    return «(day - today) % 7»«(day - today - 1) % 7 + 1»
"""),
    ("rounds", """
def pages(count, each):
    return «count // each»«-(-count // each)»
"""),
    ("bound clamped", """
def around(text, at, width):
    return text[«at - width»«max(0, at - width)»:at]
"""),
    ("variable set back", """
def joined(lines):
    is_open = False
    for line in lines:
        if not line:
«»«            is_open = False
»            continue
        is_open = True
    return is_open
"""),
    ("condition copied", """
def entries(lines):
    head, rest = None, []
    for line in lines:
        if line.startswith('#'):
«»«            if head:
                yield head, rest
»            head, rest = line, []
        else:
            rest.append(line)
    if head:
        yield head, rest
"""),
    ("guard of a sibling", """
def first(items):
    if not items:
        return None
    return items[0]

def last(items):
«»«    if not items:
        return None
»    return items[-1]
"""),
    ("field of data", """
import dataclasses

@dataclasses.dataclass
class Note:
    text: str
    seen: bool = «False»«dataclasses.field(default=False, compare=False)»
"""),
    ("early answer", """
def share(total, people):
«»«    if not people:
        return None
»    size = total / len(people)
    return size
"""),
    ("argument at hand", """
def shown(text, width=80):
    return text[:width]

def page(texts, width):
    return [shown(text«»«, width=width») for text in texts]
"""),
    ("base of an exception", """
class Missing(«Exception»«KeyError»):
    pass
"""),
]
"""An operator and a program: «what was written»«what was meant»."""

TABLES = [
    ("entry", ("EUR", "12 BHD"), """
DECIMALS = {
    "JPY": 0,
    "KWD": 3«»«,
    "BHD": 3»,
}
"""),
    ("entry", ("see ftp://a",), """
SAFE = ("http", "https"«»«, "ftp"»)
"""),
    ("entry", ("straße", "strasse"), """
LETTERS = {"ä": "ae", "ö": "oe"«»«, "ß": "ss"»}
"""),
    ("word given", ("short",), """
@named("first", "plain"«»«, "short"»)
def first(items):
    return items[0]
"""),
    ("alphabet", ("3T",), """
def power(letter):
    return «" kmg"»«" kmgt"».index(letter)
"""),
    ("pattern", ("LARGE 12",), """
import re
MARK = re.compile(r"(SMALL|WIDE«»«|LARGE») \\d+")
"""),
    ("pattern", ("1'200",), """
import re
NUMBER = re.compile(r"\\d{1,3}(?:«»«[' ]»\\d{3})+")
""".replace("«»«[' ]»", "« »«[' ]»")),
    ("pattern", ("12:30Z",), """
import re
TIME = re.compile(r"(\\d{2}):(\\d{2}«»«Z?»)")
"""),
    ("pattern", ("me@home",), """
import re
OWNER = re.compile(r"«»«(?<!\\S)»@(\\w+)")
"""),
]
"""The same with texts that the failing tests write."""


def proposed(operator: str, program: Program) -> list[str]:
    """The texts that an operator proposes, the cheapest first."""
    only = tuple(one for one in EDITS if one.name == operator)
    return [
        spliced(program.data, [edit.splice])
        for edit in single_edits(program, {}, operators=only)
    ]


def read(marked: str) -> tuple[str, str]:
    """What was written, and what was meant."""
    text = marked.removeprefix("\n")
    return MARK.sub(lambda one: one[1], text), MARK.sub(lambda one: one[2], text)


@pytest.mark.parametrize(
    ("operator", "marked"), FAMILIES, ids=[f"{at}-{one[0]}" for at, one in enumerate(FAMILIES)]
)
def test_what_is_forgotten_is_among_the_first(operator: str, marked: str) -> None:
    written, meant = read(marked)
    assert meant in proposed(operator, Program(written))[:EARLY]


@pytest.mark.parametrize(
    ("operator", "words", "marked"), TABLES, ids=[f"{at}-{one[0]}" for at, one in enumerate(TABLES)]
)
def test_a_table_or_pattern_gets_what_failing_tests_write_and_nothing_without_them(
    operator: str, words: tuple[str, ...], marked: str
) -> None:
    written, meant = read(marked)
    assert meant in proposed(operator, Program(written, words=words))
    if operator != "pattern":
        assert not proposed(operator, Program(written))


def test_a_word_of_a_test_is_never_what_a_table_answers() -> None:
    program = Program('NAMES = {"aa": "one", "bb": "two"}\n', words=("cc", "three"))
    assert proposed("entry", program)
    assert not [text for text in proposed("entry", program) if '"three"' in text.partition("cc")[2]]


def test_a_comparison_as_it_will_be_shown_and_orders_need_what_was_seen() -> None:
    text = "def big(value, digits):\n    return value >= 10\n"
    types = {"value": frozenset({"float"}), "digits": frozenset({"int"})}
    meant = text.replace("value >=", "round(value, digits) >=")
    assert meant in proposed("rounded", Program(text, types=types))
    assert not proposed("rounded", Program(text))

    text = "import functools\nclass Size:\n    def __lt__(self, other):\n        return True\n"
    meant = text.replace("class", "@functools.total_ordering\nclass")
    assert meant in proposed("ordering", Program(text, crash=UNORDERED))
    assert not proposed("ordering", Program(text))


@pytest.mark.parametrize(("body", "first"), [
    ("METHODS[name]", "KeyError"), ("METHODS[name].run()", "(AttributeError, KeyError)"),
])
def test_an_exception_that_cannot_come_was_mistaken_for_the_one_that_does(
    body: str, first: str
) -> None:
    head = f"def f(name):\n    try:\n        return {body}\n"
    text = f"{head}    except AttributeError:\n        pass\n"
    program = Program(text, crash=Crash("KeyError", "'x'", 3))
    assert proposed("expected exception", program)[0] == text.replace("AttributeError", first)


def test_what_is_emptied_is_dearer_than_what_is_dropped() -> None:
    program = Program("def f(x):\n    if x:\n        x.a()\n    x.b()\n    x.c()\n")
    costs = {
        spliced(program.data, [one.splice]): one.cost for one in single_edits(program, {})
    }
    emptied = costs["def f(x):\n    if x:\n        pass\n    x.b()\n    x.c()\n"]
    assert emptied > costs["def f(x):\n    if x:\n        x.a()\n    x.b()\n"] + 1


def test_a_variable_that_nobody_reads_is_counted() -> None:
    text = "def f(a, b):\n    c = a\n    return {}\n"
    counts = [unread_variables(text.format(value)) for value in ("b + c", "c", "a")]
    assert counts == [0, 1, 2]
    assert Candidate(text, 1.0, ()).idle is False


def test_the_words_of_a_case_are_those_that_its_id_has() -> None:
    code = (
        "@mark.parametrize(('text', 'size'), [('ten', 10), ('straße', 2)])\n"
        "def test_size(text, size):\n    assert measured(text, 'km') == size\n"
    )
    assert words_told([code], [r"stra\xdfe-2]"]) == ("straße", "km")
    assert words_told([code], [""]) == ("text", "size", "ten", "straße", "km")
    assert words_told(["no code ("], [""]) == ()


def test_a_name_made_of_the_same_words_may_have_been_meant() -> None:
    others = "".join(f"limit{number} = {{}}\n" for number in range(14))
    text = f"{others}a_to_b = {{}}\nb_to_a = {{}}\n\ndef f(x):\n    return b_to_a[x]\n"
    found = proposed("variable", Program(text))
    assert text.replace("return b_to_a", "return a_to_b") in found
    assert not any("return limit" in one for one in found)


def test_fields_that_other_files_set_beside_one_may_have_been_meant() -> None:
    text = "def f(error):\n    return error.message\n"
    program = Program(text, beside={"message": ("message", "payload")})
    assert text.replace("message", "payload") in proposed("attribute", program)


def test_what_an_f_string_shows_is_edited_where_it_stands() -> None:
    text = 'def f(count):\n    return f"{count} of {count:.0f}: {{count}}"\n'
    found = proposed("value wrapped", Program(text, types={"count": frozenset({"float"})}))
    assert text.replace("{count} of", "{abs(count)} of") in found
    for one in proposed("value wrapped", Program('def f(a):\n    return f"""\n  {a}"""\n')):
        compile(one, "f.py", "exec")  # before 3.12 Python says a wrong place
