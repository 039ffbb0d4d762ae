"""What a test writes into a folder that the program can reach stays in that folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from sandbox import SandboxUnavailable

DATA = Path(__file__).with_name("programs.toml").read_text("utf-8")
PROGRAMS = tomllib.loads(DATA)["planted_links"]
TESTS = PROGRAMS["tests"]

PROGRAM = PROGRAMS["program"]


@pytest.mark.parametrize("jail", ["L3", "L4"], indirect=True)
async def test_no_link_of_the_program_leads_into_the_tests_folder(jail: Any, judge: Any) -> None:
    try:
        await jail.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    (verdict,) = (await judge(PROGRAM, TESTS, ("test_it",))).verdicts

    assert (verdict.status, verdict.got, verdict.expected) == ("failed", "0", "8")
