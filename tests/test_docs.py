"""Tables and pictures in the documents agree with the code."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from agent.loop.graph import STEPS
from agent.report.words import INTEGRITY_MEANING, OUTCOME_WORDS, PROOF_MEANING, STATUS_SYMBOLS
from agent.verify.tamper_indicators import RUNTIME_INDICATORS, TEXT_INDICATORS
from evaluation.screenshots import PICTURES

ROOT = Path(__file__).parent.parent
PACKAGES = ("agent", "demo", "evaluation", "llm", "prompts", "sandbox")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("document", "names"), [
    ("docs/steps.md", (*STEPS,)), ("docs/verdicts.md", (*RUNTIME_INDICATORS, *TEXT_INDICATORS)),
])
def test_every_step_and_indicator_is_explained(document: str, names: tuple[str, ...]) -> None:
    text = read(document)
    assert not [name for name in names if f"`{name}`" not in text]


def packages() -> set[str]:
    """Files and folders of the table of packages; a row's later names are relative to its first."""
    found = set()
    for row in re.findall(r"^\| (`[a-z]+[/.].*?`) \|", read("docs/architecture.md"), re.MULTILINE):
        first, *others = re.findall(r"`(.*?)`", row)
        beside = first.rstrip("/").rpartition("/")[0]
        found |= {first, *(one if (ROOT / one).exists() else f"{beside}/{one}" for one in others)}
    return found


def test_every_package_of_the_table_exists() -> None:
    assert len(packages()) > 10
    assert not [one for one in packages() if not (ROOT / one).exists()]


def test_every_module_or_its_folder_is_in_the_table() -> None:
    folders = tuple(one for one in packages() if one.endswith("/"))
    modules = [
        path.relative_to(ROOT).as_posix() for package in PACKAGES
        for path in (ROOT / package).rglob("*.py") if not path.name.startswith("__")
    ]
    assert not [one for one in modules if one not in packages() and not one.startswith(folders)]


def test_what_the_table_of_changes_names_is_there() -> None:
    table = read("docs/architecture.md").partition("## Where to change")[2].partition("## ")[0]
    paths = {
        path.relative_to(ROOT).as_posix() for package in (*PACKAGES, "prompts")
        for path in (ROOT / package, *(ROOT / package).rglob("*"))
    }
    text = "\n".join((ROOT / path).read_text("utf-8") for path in paths if path.endswith(".py"))
    named = set(re.findall(r"`(.*?)`", table))
    files = {one for one in named if "/" in one or re.search(r"\.(py|toml|css)$", one)}
    assert len(files) > 20
    assert not [one for one in files if not any(
        f"/{path}".endswith(f"/{one.rstrip('/')}") for path in paths
    )]
    definitions = re.findall(r"(?:def|class) (\w+)|^\s*([\w.]+)(?: =|:)", text, re.MULTILINE)
    defined = {name for found in definitions for name in found}
    assert not [one for one in named - files if not {one, one.rpartition(".")[2]} & defined]


@pytest.mark.parametrize(("document", "row", "known"), [
    ("README.md", r"^\| (E\d) \| .+ \|$", PROOF_MEANING),
    ("README.md", r"^\| (isolated|in-process) \| .+ \|$", INTEGRITY_MEANING),
    ("docs/verdicts.md", r"^\| `(\w+)` \| [A-Z :,]+ \|$", OUTCOME_WORDS),
    ("docs/verdicts.md", r"^\| `([a-z ]+)` \| . \| .+ \|$", STATUS_SYMBOLS),
])
def test_documents_list_all_options(document: str, row: str, known: dict[str, object]) -> None:
    assert re.findall(row, read(document), re.MULTILINE) == [*known]


def test_links_between_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} -> {target}"


def test_paths_that_documents_name_exist() -> None:
    """Decisions tell of what was; a section of `extending.md` makes the files it names."""
    told = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    dead = [
        f"{document.name}: {path}" for document in told if document.name != "extending.md"
        for path in re.findall(
            r"`((?:agent|demo|evaluation|llm|prompts|sandbox|tests)/[\w/.]+)`",
            document.read_text("utf-8"),
        )
        if not (ROOT / path).exists()
    ]
    assert not dead


@pytest.mark.parametrize("document", ["docs/tools.md", "docs/deployment-issues.md"])
def test_each_row_of_what_is_shown_names_a_test_that_there_is(document: str) -> None:
    text = read(document)
    rows = re.findall(r"^\| .+ \| `(tests/[\w/]+\.py)::(\w+)` \|$", text, re.MULTILINE)
    assert len(rows) == text.count("| `tests/") > 10
    assert not [
        name for path, name in rows
        if not re.search(rf"^(?:async )?def {name}\(", read(path), re.MULTILINE)
    ]


def test_every_picture_is_taken_by_the_script_and_shown() -> None:
    """On a difference: `make screenshots`."""
    pictures = {f"{one.name}.png": (one.width, one.height) for one in PICTURES}
    found = {
        path.name: struct.unpack(">II", path.read_bytes()[16:24])
        for path in (ROOT / "docs").glob("*.png")
    }
    assert found == pictures
    assert all((ROOT / "docs" / name).stat().st_size < 150_000 for name in found)
    told = read("README.md") + read("docs/run-the-page.md")
    assert not [name for name in found if f"{name})" not in told]
