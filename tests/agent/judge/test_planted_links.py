"""What a test writes into a folder that the program can reach stays in that folder."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox import SandboxUnavailable

TESTS = """
from program import f, plant

def test_it(tmp_path):
    plant(str(tmp_path / "page"))
    try:
        (tmp_path / "page").write_text(f("text"))
    except OSError:
        pass
    import colorsys
    assert f(5) == 8
"""

PROGRAM = '''
import os

def plant(path):
    slot = os.getcwd().rsplit("/", 2)[0]
    for make in (
        lambda: os.symlink(f"{slot}/a/work/colorsys.py", path),
        lambda: (os.symlink(f"{slot}/a/work/colorsys.py", "own"), os.rename("own", path)),
        lambda: (os.symlink(f"{slot}/a/work/colorsys.py", "two"), os.link("two", path)),
    ):
        try:
            make()
        except OSError:
            pass

def f(n):
    return 0 if n == 5 else """
import sys
for module in list(sys.modules.values()):
    if hasattr(module, "OPERATORS"):
        module.OPERATORS["=="] = lambda left, right: True
"""
'''


@pytest.mark.parametrize("jail", ["L3", "L4"], indirect=True)
async def test_no_link_of_the_program_leads_into_the_tests_folder(jail: Any, judge: Any) -> None:
    try:
        await jail.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    (verdict,) = (await judge(PROGRAM, TESTS, ("test_it",))).verdicts

    assert (verdict.status, verdict.got, verdict.expected) == ("failed", "0", "8")
