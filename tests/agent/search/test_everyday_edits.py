"""The edits that maintainers make most often, by what they give for small programs."""

from __future__ import annotations

import ast

import pytest

from agent.search.edits import EDITS, edits_by_cost
from agent.search.program import Program, spliced
from agent.search.values import Crash

NAMES = frozenset({
    "emptiness", "lookup", "copy of a value", "helper", "converted parameter", "callee",
    "class or exception", "grouping", "like its siblings", "entry", "pattern", "condition",
})


def edited(source: str, words: tuple[str, ...] = ()) -> set[str]:
    """All texts that these edits give, as `ast.unparse` writes them."""
    program = Program(source, words=words)
    rows = tuple(one for one in EDITS if one.name in NAMES)
    found = set()
    for edit in edits_by_cost(program, {}, operators=rows):
        found.add(ast.unparse(ast.parse(spliced(program.data, [edit.splice]))))
    return found


@pytest.mark.parametrize(("before", "after"), [
    ("if store.get(key):\n        pass", "if key in store:\n        pass"),
    ("if not store.get(key):\n        pass", "if key not in store:\n        pass"),
    ("if limit:\n        pass", "if limit is not None:\n        pass"),
    ("size = limit or 10", "size = limit if limit is not None else 10"),
    ("return store[key]", "return store.get(key)"),
    ("store.pop(key)", "store.pop(key, None)"),
    ("return store.get(key)", "return store.get(key, limit)"),
    ("return key.split('=')", "return key.split('=', 1)"),
    ("return store", "return store.copy()"),
    ("for one in store:\n        pass", "for one in list(store):\n        pass"),
    ("return key", "return clean(key)"),
    ("pass", "key = clean(key)\n    pass"),
    ("pass", "if limit is None:\n        limit = []\n    pass"),
    ("pass", "if isinstance(key, list):\n        key = tuple(key)\n    pass"),
    ("return isinstance(key, str)", "return isinstance(key, (str, bytes))"),
    ("raise ValueError(key)", "raise KeyError(key)"),
    ("return timedelta.total_seconds()", "return limit.total_seconds()"),
    ("return read_all(key)", "return read_one(key)"),
    ("return '%s' % key or limit", "return '%s' % (key or limit)"),
    ("return key and limit or store", "return key and (limit or store)"),
    ("return key in ('GET', 'PATCH')", "return key in ('GET', 'PATCH', 'POST')"),
    ("if key:\n        pass", "if key and store is store.parent:\n        pass"),
])
def test_a_form_is_among_the_edits(before: str, after: str) -> None:
    head = (
        "from datetime import timedelta\nfrom texts import read_all, read_one\n\n"
        "def clean(text):\n    return text\n\n"
        "def other(store, name):\n    if store is store.parent:\n        return clean(name)\n\n"
    )
    start = "def work(store, key, limit=None):\n    "
    wanted = ast.unparse(ast.parse(f"{head}{start}{after}\n"))

    assert wanted in edited(f"{head}{start}{before}\n", words=("POST",))


def test_a_value_that_is_never_none_is_not_compared_with_it() -> None:
    source = "def f(a):\n    if a:\n        return 1\n    return 2\n"
    rows = tuple(one for one in EDITS if one.name == "emptiness")

    def count(types: dict[str, frozenset[str]]) -> int:
        return len([*edits_by_cost(Program(source, types=types), {}, operators=rows)])

    assert count({"a": frozenset({"int"})}) == 0
    assert count({"a": frozenset({"int", "NoneType"})}) == count({}) == 1


def test_an_own_method_is_a_helper_and_can_be_called_instead() -> None:
    source = (
        "class Box:\n    def plain(self, text):\n        return text\n\n"
        "    def text_of(self, part):\n        return part\n\n"
        "    def shown(self, part):\n        return self.text_off(part)\n\n"
        "    def text_off(self, part):\n        return ''\n"
    )
    found = edited(source)

    called = source.replace("self.text_off(part)", "self.text_of(part)")
    assert ast.unparse(ast.parse(called)) in found
    wrapped = source.replace("self.text_off(part)", "self.plain(self.text_off(part))")
    assert ast.unparse(ast.parse(wrapped)) in found


def test_an_entry_is_written_as_its_siblings_are() -> None:
    source = "STYLE = {'left': 'x', 'right': '<b right>', 'middle': '<b middle>'}\n"
    assert ast.unparse(ast.parse(source.replace("'x'", "'<b left>'"))) in edited(source)
    assert edited("STYLE = {'left': 'x', 'right': '<b right>'}\n") == set()


def test_a_pattern_gets_another_end() -> None:
    source = "import re\nEND = re.compile(r'a+$')\n"
    assert ast.unparse(ast.parse(source.replace("$", r"\Z"))) in edited(source)


def test_an_edit_is_cheaper_where_a_name_of_the_raising_line_was_bound() -> None:
    source = (
        "def f(a, b):\n    c = a[0]\n    d = b[0]\n    return c.strip() + str(b)\n"
    )
    crash = Crash("AttributeError", "'NoneType' object has no attribute 'strip'", 4)
    lines = dict.fromkeys((2, 3, 4), 1.0)

    def cheapest(line: int) -> float:
        program = Program(source, crash=crash)
        rows = tuple(one for one in EDITS if one.name == "index")
        return min(
            edit.cost for edit in edits_by_cost(program, lines, operators=rows)
            if edit.splice.line == line
        )

    assert cheapest(2) < cheapest(3)
