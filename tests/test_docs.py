"""Tables and pictures in the documents agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.checks.signs import ACTING, WRITTEN
from agent.graph import STEPS, diagram
from agent.words import INTEGRITY_MEANING, OUTCOME_WORDS, PROOF_MEANING, STANDING_SIGNS

ROOT = Path(__file__).parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_diagram_is_the_graphs_own() -> None:
    """On a difference: put what `python -m agent.graph` prints into docs/architecture.md."""
    (drawn,) = re.findall(r"```mermaid\n(.*?)```", read("docs/architecture.md"), re.DOTALL)
    assert drawn == diagram()


def test_every_step_is_explained() -> None:
    text = read("docs/architecture.md")
    assert not [step for step in STEPS if f"`{step}`" not in text]


def test_every_room_of_the_table_exists() -> None:
    rooms = re.findall(r"^\| `([\w./]+)`", read("docs/architecture.md"), re.MULTILINE)
    assert len(rooms) > 10
    assert not [room for room in rooms if not (ROOT / room).exists() and room not in STEPS]


def test_every_part_of_the_sandbox_stands_in_the_table() -> None:
    rows = re.findall(r"^\| (`sandbox/.*?) \|", read("docs/architecture.md"), re.MULTILINE)
    named = {name.removeprefix("sandbox/") for row in rows for name in re.findall(r"`(.*?)`", row)}
    parts = {
        path.name if path.is_file() else f"{path.name}/" for path in (ROOT / "sandbox").iterdir()
        if not path.name.startswith("_")
    }

    assert named == parts


def test_every_sign_is_explained() -> None:
    text = read("docs/verdicts.md")
    assert not [sign for sign in (*ACTING, *WRITTEN) if f"`{sign}`" not in text]


@pytest.mark.parametrize(("document", "row", "table"), [
    ("README.md", r"^\| (E\d) \| (.+) \|$", PROOF_MEANING),
    ("README.md", r"^\| (outside|observed|in-process) \| (.+) \|$", INTEGRITY_MEANING),
    ("docs/verdicts.md", r"^\| `(\w+)` \| ([A-Z :,]+) \|$", OUTCOME_WORDS),
    ("docs/verdicts.md", r"^\| `([a-z ]+)` \| . \| (.+) \|$",
     {name: sign.meaning for name, sign in STANDING_SIGNS.items()}),
    ("docs/verdicts.md", r"^\| `([a-z ]+)` \| (.) \| .+ \|$",
     {name: sign.glyph for name, sign in STANDING_SIGNS.items()}),
])
def test_documents_say_what_the_faces_say(
    document: str, row: str, table: dict[str, str]
) -> None:
    assert re.findall(row, read(document), re.MULTILINE) == list(table.items())


def test_links_between_documents_lead_somewhere() -> None:
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} -> {target}"
