"""Tests that fail only together with others: whether state of the program is the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.report.result import fold
from agent.search.precheck.polluters import polluters
from tests.agent.runs import healed, last, of_kind

TAGS = '''def tags(text, found=[]):
    for word in text.split():
        if word.startswith("#"):
            found.append(word)
    return found
'''
TAGS_TESTS = """from program import tags

def test_one():
    assert tags("#a b") == ["#a"]

def test_none():
    assert tags("a b") == []

def test_given():
    assert tags("#c", ["#b"]) == ["#b", "#c"]
"""
CART = """class Cart:
    items = []

    def add(self, name):
        self.items.append(name)

    def count(self):
        return len(self.items)
"""
CART_TESTS = """import pytest
from program import Cart

@pytest.fixture
def cart():
    return Cart()

def test_add(cart):
    cart.add("pen")
    assert cart.count() == 1

def test_empty(cart):
    assert cart.count() == 0
"""
MODE = """from contextlib import contextmanager

_digits = 2

def shown(value):
    return f"{value:.{_digits}f}"

@contextmanager
def digits(count):
    global _digits
    before = _digits
    _digits = count
    yield
    _digits = before
"""
MODE_TESTS = """import pytest
from program import digits, shown

def test_within():
    with digits(4):
        assert shown(1 / 3) == "0.3333"

def test_left_by_an_error():
    with pytest.raises(KeyError), digits(3):
        raise KeyError

def test_usual():
    assert shown(1 / 3) == "0.33"
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("code", "tests", "healing"), [
    (TAGS, TAGS_TESTS, "    if found is None:\n        found = []\n"),
    (CART, CART_TESTS, "    def __init__(self):\n        self.items = []\n"),
    (MODE, MODE_TESTS, "    finally:\n        _digits = before\n"),
])
@pytest.mark.nightly
async def test_what_is_kept_from_one_test_to_the_next_is_a_bug(
    tmp_path: Path, code: str, tests: str, healing: str
) -> None:
    log = await healed(tmp_path, code, tests)

    assert last(log).outcome == "healed"
    assert healing in fold(log).code
    assert of_kind(log, "notice") and len(of_kind(log, "diagnosed")) == 1
    # No test is held out, since the failing one may need it.
    assert last(log).proof == "E1"


@pytest.mark.parametrize("tests", [
    "WORDS = ['b', 'a']\n\ndef test_a():\n    WORDS.append('c')\n    assert last(WORDS) == 'c'\n\n"
    "def test_b():\n    assert last(WORDS) == 'a'\n",
    "import pytest\n\n@pytest.fixture(scope='module')\ndef words():\n    return ['b', 'a']\n\n"
    "def test_a(words):\n    words.append('c')\n    assert last(words) == 'c'\n\n"
    "def test_b(words):\n    assert last(words) == 'a'\n",
])
@pytest.mark.nightly
async def test_state_left_in_a_test_file_changes_no_program(tmp_path: Path, tests: str) -> None:
    code = "def last(words):\n    return words[-1]\n"
    end = last(await healed(tmp_path, code, f"from program import last\n{tests}"))

    assert (end.outcome, end.candidates, "`test_a`" in end.reason) == ("not_fixable", 0, True)


@pytest.mark.nightly
async def test_a_program_that_changes_state_shared_by_tests_is_healed(tmp_path: Path) -> None:
    code = "def last(words):\n    words.sort()\n    return words[-1]\n"
    tests = (
        "from program import last\n\nWORDS = ['b', 'a']\n\n"
        "def test_a():\n    assert last(WORDS) == 'b'\n\n"
        "def test_b():\n    assert WORDS == ['b', 'a']\n"
    )

    assert last(await healed(tmp_path, code, tests)).outcome == "healed"


@pytest.mark.parametrize(("culprits", "found"), [
    ({3}, [3]), ({0}, [0]), ({2, 6}, [*range(8)]), ({4, 5}, [4, 5]),
])
async def test_the_fewest_tests_that_halving_finds(culprits: set[int], found: list[int]) -> None:
    async def fails(before: object) -> bool:
        return culprits <= {*before}  # type: ignore[misc]

    assert await polluters(range(8), fails) == found
