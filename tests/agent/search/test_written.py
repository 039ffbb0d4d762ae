"""What a text alone shows of a program that was written: risky calls, and what can never run."""

from __future__ import annotations

import pytest

from agent.search.inspection.dead_code import without_dead_code
from agent.search.inspection.risky import risks

RISKY = """\
import subprocess as sp
from os import system as run
import pickle


def f(text, frame):
    run(text)
    sp.run(text, shell=True)
    sp.run([text], shell=False)
    frame.eval(text)
    return pickle.loads(eval(text))
"""


def test_risky_calls_are_named_however_imported() -> None:
    assert [(one.line, one.call) for one in risks(RISKY)] == [
        (7, "os.system"), (8, "subprocess.run"), (11, "pickle.loads"), (11, "eval"),
    ]

    assert risks("eval(") == ()


AFTER = "def f(x):\n    return x\n"


@pytest.mark.parametrize(("text", "shorter"), [
    ("def f(x):\n    return x\n    print(x)\n    x + 1\n", AFTER),
    ("import os\nfrom re import match, sub\n" + AFTER, AFTER),
    # A name that is bound, a yield and a lone line change what the function is, or read.
    ("def f(x):\n    return x\n    x = 1\n", None),
    ("def f(x):\n    return x\n    yield x\n", None),
    ("def f(x):\n    return x; print(x)\n", None),
    ("import os\n__all__ = [\'os\']\n", None),
    ("from __future__ import annotations\nfrom re import *\n", None),
    ("import os.path\nprint(os.sep)\n", None),
    ("def f(:\n", None),
])
def test_only_what_can_never_run_or_be_read_is_left_out(text: str, shorter: str | None) -> None:
    assert without_dead_code(text) == (text if shorter is None else shorter)


def test_what_stood_there_before_stays() -> None:
    text = "import os\nimport re\n" + AFTER
    assert without_dead_code(text, "import os\n" + AFTER) == "import os\n" + AFTER
