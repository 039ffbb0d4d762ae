"""The user's own asserts leave the solution; nothing else of it changes."""

from __future__ import annotations

import ast

import pytest

from agent.checks.masking import mask


@pytest.mark.parametrize(("text", "masked"), [
    ("x = 1\nassert x == 1\ny = 2\n", "x = 1\npass\ny = 2\n"),
    ("assert (\n    f(1)\n    == 2\n), 'no'  # why\nx = 1\n", "pass\n\n\n# why\nx = 1\n"),
    ("assert a; x = 2; assert b\n", "pass; x = 2; pass\n"),
    ("assert f(\n  1); x = 2\n", "pass\nx = 2\n"),
    ("def f():\n    assert g()\n", "def f():\n    assert g()\n"),
    ("assert 'é' == 'é'; x = 'ü'", "pass; x = 'ü'"),
    ("x = 1\r\nassert x\r\n", "x = 1\r\npass\r\n"),
    ("assert x ==", "assert x =="),
    ("", ""),
])
def test_top_level_asserts_become_pass(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_every_other_statement_keeps_its_line() -> None:
    text = "a = 1\nassert (a ==\n  1)\nb = '''\nassert\n'''\nassert a, (\n 1\n)\nc = 3\n"
    lines = {
        node.targets[0].id: node.lineno  # type: ignore[attr-defined]
        for node in ast.parse(mask(text)).body if isinstance(node, ast.Assign)
    }
    assert lines == {"a": 1, "b": 4, "c": 10}
