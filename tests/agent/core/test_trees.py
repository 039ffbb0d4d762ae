"""Texts are parsed by one thread at a time; a literal is written alike in every process."""

from __future__ import annotations

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import trees
from agent.core.trees import literal_source


def test_no_two_threads_are_in_the_parser_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = 0, 0
    counting = threading.Lock()
    parse = ast.parse

    def counted(text: str, **more: Any) -> Any:
        nonlocal inside, most
        with counting:
            inside += 1
            most = max(most, inside)
        try:
            return parse(text, **more)
        finally:
            with counting:
                inside -= 1

    monkeypatch.setattr(ast, "parse", counted)
    text = "\n".join(f"x{number} = [{number}, (1 + {number})]" for number in range(200))

    with ThreadPoolExecutor(4) as pool:
        every = [*pool.map(trees.parse, [text] * 16)]
        expressions = [*pool.map(trees.parse_expression, ["f(1)"] * 16)]

    assert most == 1
    assert len({ast.dump(tree) for tree in every}) == 1
    assert {ast.unparse(node) for node in expressions} == {"f(1)"}


def test_a_parser_may_be_entered_again_by_its_own_thread() -> None:
    class Parsing:
        def __del__(self) -> None:
            trees.parse("1")

    with trees._PARSER:
        Parsing()
        assert ast.unparse(trees.parse_expression("1")) == "1"


def test_a_parse_disturbed_by_another_thread_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, seen = ast.parse, []

    def disturbed(text: str, **more: Any) -> Any:
        seen.append(text)
        if len(seen) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=39, after=170)")
        return parse(text, **more)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.dump(trees.parse("x = 1")) == ast.dump(parse("x = 1"))
    assert seen == ["x = 1"] * 3


ATOMS = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
PLAIN = st.recursive(
    ATOMS | st.sets(ATOMS, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(ATOMS, inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN)
def test_what_is_spelt_is_read_again(value: object) -> None:
    assert ast.literal_eval(literal_source(value)) == value


@pytest.mark.parametrize(("value", "words"), [
    ({"pear", "fig"}, "{'fig', 'pear'}"), ([{("b", 2), ("a", 1)}], "[{('a', 1), ('b', 2)}]"),
    (frozenset({"b", "a"}), "frozenset({'a', 'b'})"),
    ((frozenset(), set()), "(frozenset(), set())"), ({(1,): {True}}, "{(1,): {True}}"),
])
def test_sets_are_sorted_wherever_they_stand(value: object, words: str) -> None:
    assert literal_source(value) == words


def test_what_holds_no_others_may_be_written_in_another_way() -> None:
    assert literal_source({"a": [1, 2]}, lambda atom: f"<{atom}>") == "{<a>: [<1>, <2>]}"
