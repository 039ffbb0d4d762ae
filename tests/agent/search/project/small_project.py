"""A small project with most of what pytest's suites have, one of whose tests fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.core.domain import OTHER_TESTS, File, Project, Script, Solution, Task
from tests.agent.values import table

ALONE = "--disable-plugin-autoload"
"""To load what our own tests need takes pytest six times as long as the rest of its start."""


def pyproject(name: str, options: str = ALONE, *more: str) -> str:
    """The settings of a project, with these options of pytest."""
    lines = f'[project]\nname = "{name}"\n[tool.pytest.ini_options]\naddopts = "{options}"\n'
    return lines + "".join(f"{line}\n" for line in more)


FILES: dict[str, str] = {
    "pyproject.toml": pyproject("till", f"-ra {ALONE}"),
    **table(__file__, "small_project.toml"),
}
EDITABLE = ("src/till/__init__.py", "src/till/money.py")
FAILING = {
    "tests/test_money.py::test_split[2]", "tests/test_money.py::test_split[4]",
    "tests/test_money.py::Cases::test_shares",
}
HEALED = FILES["src/till/money.py"].replace("(people - 1)", "people")

PROJECT = Project(root="/none", name="till", import_roots=("src", ""), editable=EDITABLE)


def laid(root: Path, texts: Mapping[str, str | None] = {}) -> Path:
    """The project in a folder, with other texts of files; `None` leaves one out."""
    for path, text in {**FILES, **texts}.items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return root


def task(**files: str) -> Task:
    """The task to heal it; files by path, over those that it has."""
    laid = FILES | files
    return Task(
        support=tuple(File(path=path, text=text) for path, text in laid.items()), project=PROJECT,
    )


def base() -> Solution:
    """Its program, as it came."""
    return Solution(
        files=tuple(File(path=path, text=FILES[path]) for path in EDITABLE), entry=EDITABLE[1],
    )


def scripts(nodes: list[str]) -> tuple[Script, ...]:
    """Tests by their node ids, and the rest."""
    named = tuple(Script(name=one, origin="user", code="", node=one) for one in nodes)
    return (*named, Script(name="the rest of the suite", origin="user", code="", node=OTHER_TESTS))
