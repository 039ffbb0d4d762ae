"""Each template repairs its example with the evidence of its failure, and ignores correct code."""

from __future__ import annotations

import ast
import re
import sys
import types

import pytest

from agent.search.edits import EDITS
from agent.search.edits.templates import KNOWN, templates
from agent.search.program import Program, spliced
from agent.search.values import Crash
from tests.agent.values import single_edits, table

MARK = re.compile("«([^»]*)»«([^»]*)»")
EXAMPLES = table(__file__, "templates.toml")
OPERATORS = tuple(one for one in EDITS if one.name.endswith("mistake"))
ROWS = {one.name: one for one in templates()}


def run(text: str) -> None:
    """Runs a program as the module `program`."""
    module = sys.modules["program"] = types.ModuleType("program")
    try:
        exec(compile(text, "program.py", "exec"), module.__dict__)
    finally:
        del sys.modules["program"]


def crash_of(text: str) -> Crash | None:
    """The exception of a program with the values at the failure; `None` for a wrong answer."""
    try:
        run(text)
    except AssertionError:
        return None
    except Exception as error:
        at, line, values = error.__traceback__, None, {}
        while at is not None:
            if at.tb_frame.f_code.co_filename == "program.py":
                line, values = at.tb_lineno, at.tb_frame.f_locals
            at = at.tb_next
        held = tuple((name, repr(value)[:80]) for name, value in values.items())
        return Crash(type(error).__name__, str(error), line, values=held)
    raise AssertionError("the example does not fail")


def proposed(name: str, program: Program) -> list[str]:
    """The texts that a template proposes, the cheapest first."""
    template = ROWS[name]
    evidence = template.evidence(program)
    if evidence is None:
        return []
    splices = [
        splice for node in program.nodes if isinstance(node, template.kinds)
        for splice in template.proposed(program, node, dict(evidence))
    ]
    splices.sort(key=lambda one: one.cost)
    return [spliced(program.data, [one]) for one in splices]


def test_every_row_has_an_example() -> None:
    assert [*ROWS] == [*EXAMPLES]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_template_repairs_its_example(name: str) -> None:
    written, meant = (
        MARK.sub(side, '"""größe"""\n' + EXAMPLES[name]["example"]) for side in (r"\1", r"\2")
    )
    crash = crash_of(written)
    assert (crash is not None) or not ROWS[name].is_reported
    program = Program(written, crash=crash)

    found = proposed(name, program)
    assert meant in found
    run(meant)
    listed = single_edits(program, {}, operators=OPERATORS)
    assert meant in {spliced(program.data, [one.splice]) for one in listed}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "spared" in EXAMPLES[name]])
def test_a_template_leaves_right_code_alone(name: str) -> None:
    failing = MARK.sub(r"\1", EXAMPLES[name]["example"])
    crash = crash_of(failing)
    if crash is not None:
        crash = Crash(crash.exception, crash.message, None)

    assert proposed(name, Program(EXAMPLES[name]["spared"], crash=crash)) == []


@pytest.mark.parametrize("name", [name for name in EXAMPLES if ROWS[name].is_reported])
def test_a_reported_mistake_is_left_alone_where_something_else_is_reported(name: str) -> None:
    written = MARK.sub(r"\1", EXAMPLES[name]["example"])
    other = Crash("OSError", "[Errno 28] No space left on device", None)

    assert proposed(name, Program(written)) == []
    assert proposed(name, Program(written, crash=other)) == []


def test_a_cheap_template_leaves_a_repaired_example_alone() -> None:
    again = [
        name for name, one in EXAMPLES.items()
        if not ROWS[name].is_reported and ROWS[name].cost < KNOWN
        and proposed(name, Program(MARK.sub(r"\2", one["example"])))
    ]
    assert again == []


def test_a_template_keeps_comments_and_layout() -> None:
    program = Program(
        "def total(prices):\n    result = 0\n    for price in prices:  # each\n"
        "        # add\n        result += price\n        return result  # done\n"
    )
    assert proposed("return inside the loop", program) == [
        "def total(prices):\n    result = 0\n    for price in prices:  # each\n"
        "        # add\n        result += price\n    return result  # done\n"
    ]


def test_edits_of_templates_parse() -> None:
    for one in EXAMPLES.values():
        text = MARK.sub(r"\1", one["example"])
        program = Program(text, crash=crash_of(text))
        for edit in single_edits(program, {}, operators=OPERATORS):
            ast.parse(spliced(program.data, [edit.splice]))
