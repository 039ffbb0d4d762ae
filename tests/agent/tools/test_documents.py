"""The examples of `docs/tools.md` and of the guide to Python are run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from jsonschema import Draft202012Validator

from agent.core.domain import Report, Solution, Task
from agent.tools import Workspace, open_tools
from agent.tools.debugging import DebuggerTools, DebugScope
from sandbox import Sandbox
from tests.agent.runs import printed

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs/tools.md").read_text("utf-8")
PYTHON = (ROOT / "docs/use-it-from-python.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(3))
def test_an_example_of_the_guide_prints_what_it_says(number: int, tmp_path: Path) -> None:
    assert GUIDE.count("```python") == len(EXAMPLES) == 3
    code, expected = EXAMPLES[number]
    assert printed(code, tmp_path).strip() == expected.strip()


def test_the_example_of_the_guide_to_python_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(from selfheal import CodeSandbox.*?)```", PYTHON, re.DOTALL)
    (tmp_path / "a.py").write_text("x = 1  # TODO\n")
    assert printed(code, tmp_path) == (
        "{'found': ['a.py:1: x = 1  # TODO'], 'more': False}\nfile_list\n42\n\n"
    )


def test_the_guides_table_has_each_tool_with_its_parameters_and_defaults() -> None:
    told = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", GUIDE, re.MULTILINE))
    tools = open_tools(Workspace())
    nothing = Solution(files=(), entry="")  # and nothing is called
    scene = DebugScope(Task(), nothing, (), Report(solution=""), {}, lambda words: [])
    DebuggerTools(scene, cast(Sandbox, None)).register(tools)
    schemas = {one["name"]: one["parameters"] for one in tools.get_schemas()}
    assert told == {
        name: ", ".join(
            f'{key}="{one["default"]}"' if isinstance(one.get("default"), str)
            else f"{key}={one['default']}" if "default" in one else key
            for key, one in schema["properties"].items()
        )
        for name, schema in schemas.items()
    }
    for name in open_tools(Workspace()):
        schema = schemas[name]
        assert f"`{name}`" in PYTHON
        Draft202012Validator.check_schema(schema)
        assert all("description" in one for one in schema["properties"].values())
