"""`docs/names.md` is true: its commands, variables and names are there, and its examples print what
they say."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
import typer

import selfheal
from agent.core.domain import Report, Solution, Task
from agent.core.measures import MEASURES
from agent.core.settings import Settings, provider_settings, table
from agent.interfaces import reference_docs
from agent.interfaces.library import KEYS
from agent.interfaces.terminal.cli import app
from agent.iteration.models import key_names
from agent.tools import Workspace, open_tools
from agent.tools.debugging import DebuggerTools, DebugScope
from sandbox import Sandbox

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs/names.md").read_text("utf-8")
HERE = [
    row.strip("|").split(" | ")[1] for row in re.findall(r"^\|.*\|$", GUIDE, re.MULTILINE)
    if not row.startswith(("| there", "|---"))
]
"""The middle column."""
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
VARIABLES = {
    *(row.name for row in table()), *key_names(),
    *(one.alias for one in provider_settings() if one.alias),
    *re.findall(r"^# ([A-Z0-9_]+)=", reference_docs.ENV_FILE_FOOTER, re.MULTILINE),
}


def tools() -> dict[str, set[str]]:
    """The tools on a workspace, and those of a debugger: what each takes."""
    found = open_tools(Workspace())
    nothing = Solution(files=(), entry="")  # and nothing is called
    scene = DebugScope(Task(), nothing, (), Report(solution=""), {}, lambda words: [])
    DebuggerTools(scene, cast(Sandbox, None)).register(found)
    return {one["name"]: {*one["parameters"]["properties"]} for one in found.get_schemas()}


def command(words: list[str]) -> None:
    """Fails unless the terminal has this command, with these options."""
    found: Any = typer.main.get_command(app)
    while hasattr(found, "commands"):  # a group of typer's own click
        found = found.commands[words.pop(0)]
    options = {name for one in found.params for name in one.opts}
    assert {word for word in words if word.startswith("--")} <= options


def resolved(name: str) -> None:
    """Fails unless a public name is there and takes the arguments that are named."""
    dotted, _, arguments = name.partition("(")
    first, *rest = dotted.split(".")
    assert first in selfheal.__all__
    found: Any = getattr(selfheal, first)
    for part in rest:
        known = {*dir(found), *getattr(found, "__dataclass_fields__", {})}
        assert part in known
        found = getattr(found, part, None)
    named = set(re.findall(r"(\w+)=", arguments))
    taken = set(Settings.model_fields) if found is Settings else (
        set(inspect.signature(found).parameters) if named else set()
    )
    assert named <= taken


def tried(said: str) -> None:
    """Fails unless what stands in the table is so."""
    if said.startswith("heal "):
        command(shlex.split(said)[1:])
    elif said.startswith("python -m evaluation.run_benchmark"):
        from evaluation import run_benchmark

        source = inspect.getsource(run_benchmark)
        assert all(f'"{option}"' in source for option in re.findall(r"--[\w-]+", said))
    elif extra := re.fullmatch(r'pip install -e "\.\[(\w+)\]"', said):
        assert extra[1] in EXTRAS
    elif said.startswith("pip install"):
        target = said.split()[-1]
        assert (ROOT / target).exists()
    elif said.startswith("make "):
        assert f"\n{said.split()[1]}: " in (ROOT / "Makefile").read_text("utf-8")
    elif said.startswith("from selfheal import "):
        resolved(said.removeprefix("from selfheal import "))
    elif variable := re.fullmatch(r"([A-Z][A-Z0-9_]+)(?:=(\w+))?", said):
        assert variable[1] in VARIABLES
        if variable[2]:
            environment = {variable[1]: variable[2]}
            assert Settings.from_env(environment) != Settings.from_env({variable[1]: ""})
    elif key := re.fullmatch(r'HealResult\["(\w+)"\]', said):
        assert key[1] in {*KEYS, *MEASURES}
    elif re.fullmatch(r"(agent|prompts)/\S+|(python )?app\.py|\.env", said):
        assert said == ".env" or (ROOT / said.removeprefix("python ")).is_file()
    elif (tool := said.partition("("))[0] in tools():
        assert {*re.findall(r"\w+", tool[2])} <= tools()[tool[0]]
    else:
        resolved(said)


@pytest.mark.parametrize("cell", HERE)
def test_what_stands_in_the_table_is_there(cell: str) -> None:
    said = re.findall(r"`([^`]+)`", cell)
    assert said, "a row names something of ours"
    for one in said:
        tried(one)


@pytest.mark.parametrize("wrong", [
    "heal run FILE --aply", "HEAL_APPLY", "SelfHealingAgent(model=)", "file_delete",
])
def test_a_wrong_name_in_the_table_is_found(wrong: str) -> None:
    with pytest.raises((AssertionError, KeyError)):
        tried(wrong)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.nightly
def test_an_example_prints_what_it_says(number: int, tmp_path: Path) -> None:
    assert GUIDE.count("```python") == len(EXAMPLES) == 3
    code, expected = EXAMPLES[number]
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "HEAL_DATA_DIR": str(tmp_path / "data"),
        "HEAL_BUDGET_S": "900", "HEAL_SEARCH_S": "100",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False,
    )
    assert done.stdout.strip() == expected.strip(), done.stderr
