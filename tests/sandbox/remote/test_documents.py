"""What is written about the remote backends agrees with what they are."""

from __future__ import annotations

import re
from pathlib import Path

from sandbox.remote.bootstrap import encoded_sources
from sandbox.sandbox import REMOTE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/backends.md").read_text(encoding="utf-8")
STATES = ("tested against a real server", "contract stub", "never run")


def test_each_backend_is_said_to_be_in_exactly_one_state() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| ([^|]+) \|$", PAGE, re.MULTILINE)

    said = {name: state for name, state in rows if name in REMOTE}

    assert said.keys() == set(REMOTE)
    assert set(said.values()) <= set(STATES)


def test_every_variable_that_is_read_is_described_and_no_other() -> None:
    code = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "sandbox/remote").glob("*.py")
    )
    names = re.compile(r"\b((?:E2B|DAYTONA|HEAL)_[A-Z0-9_]+)\b")
    table = PAGE[PAGE.index("## Settings") :]

    read = {name for name in names.findall(code) if not name.endswith("_")}

    assert read == set(names.findall(table))


def test_as_much_is_sent_ahead_as_is_said() -> None:
    """On a difference: look which sources are sent that no job there needs."""
    (said,) = re.findall(r"about (\d+) kB of text", PAGE)

    assert abs(len(encoded_sources()) / 1000 - int(said)) < 10
