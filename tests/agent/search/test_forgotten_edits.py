"""Edits that add forgotten code, besides `families.toml`, and edits of state kept between tests."""

from __future__ import annotations

import pytest

from agent.search.edits import EDITS
from agent.search.edits.forgotten import kept_state
from agent.search.program import Program, spliced
from agent.search.project.suspects import strings_in_tests
from agent.search.values import Crash
from tests.agent.search.test_edit_families import proposed
from tests.agent.values import single_edits


def test_a_word_of_a_test_never_becomes_a_value_of_a_table() -> None:
    program = Program('NAMES = {"aa": "one", "bb": "two"}\n', words=("cc", "three"))
    assert proposed("entry", program)
    assert not [text for text in proposed("entry", program) if '"three"' in text.partition("cc")[2]]


@pytest.mark.parametrize(("body", "first"), [
    ("METHODS[name]", "KeyError"), ("METHODS[name].run()", "(AttributeError, KeyError)"),
])
def test_an_impossible_exception_is_replaced_by_the_real_one(body: str, first: str) -> None:
    head = f"def f(name):\n    try:\n        return {body}\n"
    text = f"{head}    except AttributeError:\n        pass\n"
    program = Program(text, crash=Crash("KeyError", "'x'", 3))
    assert proposed("expected exception", program)[0] == text.replace("AttributeError", first)


def test_emptying_a_block_costs_more_than_dropping_a_statement() -> None:
    program = Program("def f(x):\n    if x:\n        x.a()\n    x.b()\n    x.c()\n")
    costs = {
        spliced(program.data, [one.splice]): one.cost for one in single_edits(program, {})
    }
    emptied = costs["def f(x):\n    if x:\n        pass\n    x.b()\n    x.c()\n"]
    assert emptied > costs["def f(x):\n    if x:\n        x.a()\n    x.b()\n"] + 1


def test_the_words_of_a_case_are_those_in_its_id() -> None:
    code = (
        "@mark.parametrize(('text', 'size'), [('ten', 10), ('straße', 2)])\n"
        "def test_size(text, size):\n    assert measured(text, 'km') == size\n"
    )
    assert strings_in_tests([code], [r"stra\xdfe-2]"]) == ("straße", "km")
    assert strings_in_tests([code], [""]) == ("text", "size", "ten", "straße", "km")
    assert strings_in_tests(["no code ("], [""]) == ()


def test_a_name_of_the_same_words_is_proposed() -> None:
    others = "".join(f"limit{number} = {{}}\n" for number in range(14))
    text = f"{others}a_to_b = {{}}\nb_to_a = {{}}\n\ndef f(x):\n    return b_to_a[x]\n"
    found = proposed("variable", Program(text))
    assert text.replace("return b_to_a", "return a_to_b") in found
    assert not any("return limit" in one for one in found)


def test_fields_that_other_files_set_together_are_proposed() -> None:
    text = "def f(error):\n    return error.message\n"
    program = Program(text, peer_fields={"message": ("message", "payload")})
    assert text.replace("message", "payload") in proposed("attribute", program)


def test_values_in_an_f_string_are_edited() -> None:
    text = 'def f(count):\n    return f"{count} of {count:.0f}: {{count}}"\n'
    found = proposed("value wrapped", Program(text, types={"count": frozenset({"float"})}))
    assert text.replace("{count} of", "{abs(count)} of") in found
    for one in proposed("value wrapped", Program('def f(a):\n    return f"""\n  {a}"""\n')):
        compile(one, "f.py", "exec")  # before 3.12 Python says a wrong place


OURS = tuple(
    one for one in EDITS
    if one.propose.__module__ == kept_state.__name__ or one.name == "known mistake"
)


def texts(source: str, *, together: bool = True) -> set[str]:
    program = Program(source, together=together)
    edits = single_edits(program, {}, operators=OURS)
    return {spliced(program.data, [edit.splice]) for edit in edits}


MEMO = """M = {}

def f(a, b):
    if a in M:
        return M[a]
    M[a] = a + b
    return M[a]
"""


@pytest.mark.parametrize(("source", "repaired"), [
    (
        "class A:\n    x = 1\n    held = []\n\n    def __init__(self):\n        self.y = 2\n\n"
        "    def f(self):\n        return self.held\n",
        "class A:\n    x = 1\n    def __init__(self):\n        self.held = []\n"
        "        self.y = 2\n\n    def f(self):\n        return self.held\n",
    ),
    (
        "S = set()\n\ndef f(x):\n    S.add(x)\n    return len(S)\n",
        "S = set()\n\ndef f(x):\n    S = set()\n    S.add(x)\n    return len(S)\n",
    ),
    (MEMO, MEMO.replace("if a in", "if (a, b) in").replace("M[a]", "M[a, b]")),
    (
        "import os\nD = {}\n\ndef f():\n    d = D.copy()\n    return d\n",
        "from copy import deepcopy\nimport os\nD = {}\n\ndef f():\n    d = deepcopy(D)\n"
        "    return d\n",
    ),
    (
        "def f():\n    a = 1\n    yield\n    done(a)\n",
        "def f():\n    a = 1\n    try:\n        yield\n    finally:\n        done(a)\n",
    ),
])
def test_shared_state_is_created_for_each_test(source: str, repaired: str) -> None:
    together = texts(source)
    assert repaired in together and together >= texts(source, together=False)
