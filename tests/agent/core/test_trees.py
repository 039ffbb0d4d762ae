"""Texts are parsed by one thread at a time."""

from __future__ import annotations

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agent.core import trees


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


def test_what_a_thread_of_somebody_else_disturbs_is_parsed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parse, seen = ast.parse, []

    def disturbed(text: str, **more: Any) -> Any:
        seen.append(text)
        if len(seen) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=39, after=170)")
        return parse(text, **more)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.dump(trees.parse("x = 1")) == ast.dump(parse("x = 1"))
    assert seen == ["x = 1"] * 3
