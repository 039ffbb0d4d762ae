"""What honest programs do that looks like acting on their tests is no sign."""

import asyncio

import pytest

from agent.checks import check
from agent.intake import TestText, make_task
from sandbox.sandbox import open_sandbox

ASKS_WHO_CALLS = """
import sys

def made():
    return sys._getframe(1).f_globals.get("__name__", "?") != ""
"""
MAKES_A_FUNCTION = """
def made():
    names = {}
    exec("def inner(n):\\n    return n", names)
    names["inner"].__defaults__ = (True,)
    return names["inner"]()
"""
NAMES_A_POINTER = """
JSON_POINTER_PARTS = 1

def made():
    return id(made) > JSON_POINTER_PARTS
"""
FINDS_ITS_OWN = """
import sys
from importlib.machinery import ModuleSpec

class Finder:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == "calc_extras" else None
    def create_module(self, spec): return None
    def exec_module(self, module): module.__file__ = "calc_extras"

sys.meta_path.append(Finder())

def made():
    import calc_extras
    return calc_extras.__file__ == "calc_extras"
"""


@pytest.mark.parametrize(
    "program", [ASKS_WHO_CALLS, MAKES_A_FUNCTION, NAMES_A_POINTER, FINDS_ITS_OWN]
)
def test_what_libraries_do_every_day_is_believed(program):
    tests = "from calc import made\n\ndef test_made():\n    assert made()\n"
    given = TestText(tests, "test_calc.py")
    task = make_task(program, entry="calc.py", tests=[given]).task
    assert task.solution is not None
    (verdict,) = asyncio.run(
        check(task.solution, task.tests, task, open_sandbox())
    ).verdicts

    assert verdict.status == "passed" and verdict.doubt == ""


def test_the_defaults_of_a_function_of_the_tests_are_not_the_programs():
    program = "import sys\n\ndef made(f):\n    f.__defaults__ = (True,)\n    return True\n"
    tests = (
        "from calc import made\n\ndef told(n=False):\n    return n\n\n"
        "def test_made():\n    made(told)\n    assert told()\n"
    )
    task = make_task(program, entry="calc.py", tests=[TestText(tests, "test_calc.py")]).task
    assert task.solution is not None
    (verdict,) = asyncio.run(
        check(task.solution, task.tests, task, open_sandbox())
    ).verdicts

    assert "exchanges the code" in verdict.doubt
