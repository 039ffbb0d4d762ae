"""A file without one of its tests: nothing of that test is left, and nothing else has changed."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.target.test_analysis.held_out import contains_test, file_without_test

FILE = '''\
"""Tests of a till."""
import pytest
from till import Till, total

EPSILON = 1e-9
RARE = [((), 0), ((7,), 7)]

@pytest.fixture
def till():
    return Till(3)

@pytest.fixture
def rich_till(till):
    till.add(9_999)
    return till

def close(left, right):
    return abs(left - right) < EPSILON

def checked_rare(values, wanted):
    assert total(values) == wanted

def test_sum():
    assert close(total([1, 2]), 3)

# Nobody must know that an empty till is worth nothing.
@pytest.mark.parametrize(("values", "wanted"), RARE)
def test_rare(values, wanted):
    checked_rare(values, wanted)

class TestTill:
    limit = 10

    def test_rich(self, rich_till):
        assert rich_till.worth == 10_002
    def test_empty(self, till):
        assert till.worth == 3 and self.limit

class TestAlone:
    wanted = 42

    def test_it(self, till):
        assert till.answer() == self.wanted
'''


def left(code: str, node: str) -> list[str]:
    """The lines that are left of a file, without the empty ones."""
    rest = file_without_test(code, node)
    assert rest is not None
    return [line for line in rest.splitlines() if line.strip()]


def gone(code: str, node: str) -> list[str]:
    kept = left(code, node)
    return [line for line in code.splitlines() if line.strip() and line not in kept]


def test_a_test_goes_with_its_rows_its_helpers_and_the_comment_above() -> None:
    assert gone(FILE, "test_rare") == [
        "RARE = [((), 0), ((7,), 7)]",
        "def checked_rare(values, wanted):",
        "    assert total(values) == wanted",
        "# Nobody must know that an empty till is worth nothing.",
        '@pytest.mark.parametrize(("values", "wanted"), RARE)',
        "def test_rare(values, wanted):",
        "    checked_rare(values, wanted)",
    ]


def test_a_fixture_that_only_it_asks_for_goes_and_one_that_others_share_stays() -> None:
    assert gone(FILE, "TestTill::test_rich") == [
        "def rich_till(till):", "    till.add(9_999)", "    return till",
        "    def test_rich(self, rich_till):", "        assert rich_till.worth == 10_002",
    ]
    assert "def till():" in left(FILE, "test_rare")


def test_a_test_of_a_class_goes_alone_or_with_its_class() -> None:
    assert gone(FILE, "TestTill::test_empty") == [
        "    limit = 10",
        "    def test_empty(self, till):", "        assert till.worth == 3 and self.limit",
    ]

    assert gone(FILE, "TestAlone::test_it") == [
        "class TestAlone:", "    wanted = 42", "    def test_it(self, till):",
        "        assert till.answer() == self.wanted",
    ]


def test_every_other_line_keeps_its_number() -> None:
    before, rest = FILE.splitlines(), file_without_test(FILE, "test_rare")
    assert rest is not None
    after = rest.splitlines()
    assert len(after) == len(before)
    assert all(new in ("", old) for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize(("code", "node", "text", "stands"), [
    (FILE, "test_sum", "def test_sum():\n        assert close( total([1, 2]), 3)\n", True),
    (FILE, "test_rare", FILE.replace("# Nobody must", "# Everyone may"), True),
    (FILE, "TestTill::test_rich", "x = 1\ndef test_rich(self, rich_till): pass", False),
    (FILE, "test_sum", "def total(values): return sum(values)", False),
    ("assert f(1) == 2", "", "see: assert f(1)==2, say", True),
    ("assert f(1) == 2", "", "see: assert f(1) == 3, say", False),
])
def test_whether_a_test_stands_in_a_text(code: str, node: str, text: str, stands: bool) -> None:
    assert contains_test(code, node, text) == stands


def test_what_others_ask_for_stays() -> None:
    code = (
        "import pytest\n@pytest.fixture\ndef db(): return 1\ndef test_a(db): assert f(db)\n"
        "@pytest.mark.usefixtures('db')\ndef test_b(): assert f()\n"
    )
    assert gone(code, "test_a") == ["def test_a(db): assert f(db)"]

    code = (
        "import pytest\nSEEN = {}\n@pytest.fixture(autouse=True)\ndef clean():\n    SEEN.clear()\n"
        "def setup_module():\n    pass\n"
        "def test_a(clean):\n    setup_module()\n    assert f() == 1\n"
        "def test_b():\n    assert f()\n"
    )
    assert gone(code, "test_a") == [
        "def test_a(clean):", "    setup_module()", "    assert f() == 1"
    ]


@pytest.mark.parametrize(("code", "node"), [
    pytest.param("CASES = [1, 2]\ndef test_a(): assert f(CASES[0])\n"
                 "def test_b(): assert f(CASES[1])", "test_a", id="a table that others use too"),
    pytest.param("def test_a(): assert f()\nALL = [test_a]", "test_a", id="others name it"),
    pytest.param("def test_a(): assert f()\n@depends(on=['test_a'])\ndef test_b(): pass",
                 "test_a", id="others name it in a string"),
    pytest.param("class Base:\n    pass\nclass TestA(Base):\n    def test_a(self): assert f()\n",
                 "TestA::test_a", id="its class would be empty"),
    pytest.param("class TestA:\n    def test_a(self): assert f()\nclass TestB(TestA):\n    pass",
                 "TestA::test_a", id="another class inherits it"),
    pytest.param("class TestA:\n    def test_a(self): assert f()\nclass TestB(TestA):\n    pass",
                 "TestB::test_a", id="it is inherited"),
    pytest.param("def test_a(): pass\ndef test_a(): assert f()", "test_a", id="it is made twice"),
    pytest.param("if True:\n    def test_a(): assert f()", "test_a", id="under a condition"),
    pytest.param("ONE = 1; TWO = 2\ndef test_a(): assert f(ONE)\ndef test_b(): assert f(TWO)",
                 "test_a", id="a line that others share"),
    pytest.param("def test_a(: pass", "test_a", id="no Python"),
    pytest.param("def test_b(): pass", "test_a", id="no such test"),
])
def test_what_cannot_be_parted_cleanly_is_not_held_out(code: str, node: str) -> None:
    assert file_without_test(code, node) is None


def test_helpers_go_together_without_warnings() -> None:
    code = 'def test_a(): assert f("\\d")\ndef test_b(): assert f("\\w")\n'
    assert left(code, "test_a") == ['def test_b(): assert f("\\w")']

    code = (
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n and even(n - 1)\n"
        "def test_a(): assert even(f())\ndef test_b(): assert f() == 2\n"
    )
    assert left(code, "test_a") == ["def test_b(): assert f() == 2"]


HELPERS = st.lists(st.sampled_from("pqrs"), max_size=3, unique=True)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """A file of tests that use helpers and tables, and the nodes of its tests."""
    lines: list[str] = []
    for name in "pqrs":
        inner = draw(HELPERS)
        lines += draw(st.sampled_from((
            [f"{name.upper()} = 0.5"], [f"def {name}(x):", f"    return x + {len(inner)}"],
        )))
        lines += [""] * draw(st.integers(0, 2))
    nodes = []
    for number in range(draw(st.integers(2, 4))):
        used = draw(HELPERS)
        in_class = draw(st.booleans())
        body = [f"    assert f({number}) == 97{number}97"]
        body += [f"    {one}(1)" for one in used]
        head = [f"# 97{number}97", f"def test_{number}({'self' if in_class else ''}):"]
        if in_class:
            lines += [f"class Test{number}:", *(f"    {line}" for line in (*head, *body))]
        else:
            lines += [*head, *body]
        nodes.append(f"Test{number}::test_{number}" if in_class else f"test_{number}")
    end = draw(st.sampled_from(("\n", "\r\n", "\r")))
    return end.join(lines) + end, tuple(nodes)


def names_of_tests(code: str) -> set[str]:
    return {
        node.name for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


@given(files())
def test_only_the_test_goes_and_nothing_of_it_stays(drawn: tuple[str, tuple[str, ...]]) -> None:
    code, nodes = drawn
    helpers = {one.name for one in ast.parse(code).body if isinstance(one, ast.FunctionDef)}
    for number, node in enumerate(nodes):
        rest = file_without_test(code, node)
        assert rest is not None
        assert names_of_tests(rest) == names_of_tests(code) - {node.rpartition(":")[2]}
        assert f"97{number}97" not in rest
        assert all(f"97{n}97" in rest for n in range(len(nodes)) if n != number)
        body = ast.parse(rest).body
        used = {one.id for node in body for one in ast.walk(node) if isinstance(one, ast.Name)}
        assert used & helpers <= {one.name for one in body if isinstance(one, ast.FunctionDef)}


@given(st.text(max_size=60), st.text(max_size=10))
def test_any_text_is_answered(code: str, node: str) -> None:
    rest = file_without_test(code, node)
    assert rest is None or ast.parse(rest)
