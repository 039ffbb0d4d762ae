"""Mutants are made by the classical operators, on the repaired lines only."""

from __future__ import annotations

import ast

from agent.search.variants.mutants import MOST, mutants, repaired_lines, surrounding_lines

PROGRAM = '''\
def total(prices, limit=0):
    """The sum of the prices above a limit."""
    found = 0
    for price in prices:
        if price > limit and not price == 13:
            found += price * 2
    return found
'''


def changes(text: str, *lines: int) -> set[str]:
    """The mutated lines, stripped."""
    old = text.splitlines()
    return {
        new.strip() for mutant in mutants(text, lines)
        for new in mutant.text.splitlines() if new not in old
    }


def test_each_statement_has_its_mutants() -> None:
    assert changes(PROGRAM, 5) == {
        "if price >= limit and not price == 13:", "if price <= limit and not price == 13:",
        "if price > limit or not price == 13:", "if price > limit and (price == 13):",
        "if price > limit and not price != 13:", "if price > limit and not price == 14:",
        "if price > limit and not price == 12:", "pass",
    }

    assert changes(PROGRAM, 6) == {
        "found -= price * 2", "found += price + 2", "found += price * 3", "found += price * 1",
        "pass",
    }

    assert changes(PROGRAM, 7) == {"return None"}

    assert changes(PROGRAM, 2) == set()
    assert mutants(PROGRAM, ()) == ()
    assert mutants("def f(:\n", (1,)) == ()


def test_expressions_of_lower_precedence_get_parentheses() -> None:
    assert "return (a + b) ** 2" in changes("def f(a, b):\n    return (a * b) ** 2\n", 2)
    assert "return x if a and b else y" in changes(
        "def f(a, b):\n    return x if a or b else y\n", 2
    )
    assert changes("def f(a):\n    return -a\n", 2) == {"return a", "return None", "pass"}


def test_many_mutants_are_sampled_evenly_and_deterministically() -> None:
    long = "def f(a):\n" + "    a = a + 1\n" * 60 + "    return a\n"
    made = mutants(long, range(2, 62))
    assert len(made) == MOST
    assert made == mutants(long, range(2, 62))
    assert len({mutant.text for mutant in made}) == MOST
    assert any("line 2" in mutant.note for mutant in made)
    assert any("line 59" in mutant.note or "line 60" in mutant.note for mutant in made)
    for mutant in made:
        ast.parse(mutant.text)


def test_the_lines_to_mutate_follow_the_repair() -> None:
    assert repaired_lines("a\nb\nc\n", "a\nB\nnew\nc\n") == {2, 3}
    assert repaired_lines("a\nb\nc\n", "a\nc\n") == frozenset()

    before = "x = 1\n\n\n" + PROGRAM.replace("    found = 0\n", "    found = 0\n    found = 1\n")
    after = "x = 1\n\n\n" + PROGRAM
    assert surrounding_lines(before, after) == frozenset(range(4, 11))
    assert 1 in surrounding_lines("import os\nx = 1\n", "x = 1\n")
