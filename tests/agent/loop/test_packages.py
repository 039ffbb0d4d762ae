"""Words that become a package: written, judged, repaired and kept file by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.domain import File, Solution
from agent.propose.several_files import write_draft
from agent.report.result import document
from agent.target.task import Inputs, from_command_line, from_page
from llm import BadReply
from tests.agent.claude import claude, fenced
from tests.agent.model_runs import healed
from tests.agent.propose.test_roles import context
from tests.llm.scripted import saying

WORDS = "Write a package shapes with area(n), for which `area(3) == 9` and `area(2) == 4`."


def file(path: str, code: str) -> str:
    return f"FILE {path}\n{fenced(code)}"


FIRST = file("shapes/__init__.py", "from .square import area\n")
BASE = file("shapes/base.py", "def side(n):\n    return n\n")
EMPTY = file("shapes/more/__init__.py", "")
DRAFT = f"""Here it is.
{FIRST}{EMPTY}{file("shapes/square.py", '''from .base import side


def area(n):
    return chr(side(n))
''')}{BASE}"""
EDIT = """FILE shapes/square.py
<<<<<<< SEARCH
    return chr(side(n))
=======
    return side(n) * side(n)
>>>>>>> REPLACE
"""
TESTS = (
    "from shapes import area\nfrom shapes.square import side\n\n"
    "def test_area():\n    assert area(3) == 9\n\ndef test_side():\n    assert side(2) == 2\n"
)


@pytest.mark.nightly
async def test_words_become_a_package_repaired_file_by_file(tmp_path: Path) -> None:
    async with claude(generator=[DRAFT, EDIT]) as model:
        result, _ = await healed(
            model.settings(tmp_path, max_candidates=5), code="", tests=TESTS, words=WORDS
        )
    assert (result.outcome, result.strategy) == ("healed", "model"), result.reason
    files = dict(result.files)
    assert [*files] == [
        "shapes/__init__.py", "shapes/more/__init__.py", "shapes/square.py", "shapes/base.py"
    ]
    assert files["shapes/more/__init__.py"] == ""
    assert files["shapes/square.py"].endswith("return side(n) * side(n)\n")
    assert document(result)["files"] == files
    assert result.diff.startswith("--- a/shapes/square.py\n+++ b/shapes/square.py\n")
    assert result.report is not None
    assert {(one.name, one.status) for one in result.report.trusted} >= {
        ("test_area", "passed"), ("test_side", "passed")
    }
    assert result.program.startswith("FILE shapes/__init__.py\nfrom .square import area\n")


async def draft(*said: str) -> tuple[Solution, list[str]]:
    """What answers become, and what was told of a refused one."""
    model = saying(*said)
    ctx, _ = context(model)
    object.__setattr__(ctx, "task", from_page("", "", WORDS).task)
    made = await write_draft(ctx, "model")
    return made, [request.messages[-1].text for request in model.asked[1:]]


@pytest.mark.parametrize(("refused", "fact"), [
    *((FIRST + file(path, "x = 1\n"), path) for path in (
        "../up.py", "/etc/x.py", "shapes//x.py", "shapes/run.sh", "conftest.py", "tests/test_x.py",
        "pyproject.toml", "random.py",
    )),
    (FIRST + file("shapes/__init__.py/x.py", "x = 1\n"), "shapes/__init__.py"),
    (file("shapes/data.json", "{}\n") + FIRST, "shapes/data.json"),
    (FIRST + FIRST, "shapes/__init__.py"),
    (FIRST + "FILE shapes/x.py\nno code\n", "shapes/x.py"),
    ("".join(file(f"a{n}.py", "x = 1\n") for n in range(21)), "21"),
])
async def test_a_file_out_of_place_is_refused_and_told(refused: str, fact: str) -> None:
    made, (told,) = await draft(refused, DRAFT)
    assert fact in told
    assert made.entry == "shapes/__init__.py" and len(made.files) == 4
    with pytest.raises(BadReply):
        await draft(refused, refused)


async def test_one_block_without_a_name_is_the_program_as_before() -> None:
    text = "def area(n):\n    return '''\nFILE x.py\n'''\n"
    made, _ = await draft(f"It is this:\n{fenced(text)}")
    assert made.files == (File(path="solution.py", text=text),)


def test_a_folder_beside_the_program_is_laid_as_the_package_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "shapes"
    (folder / "more").mkdir(parents=True)
    for name, text in (
        ("__init__.py", "from .base import side\n"), ("base.py", "def side(n): return n\n"),
        ("more/rates.json", "{}"), (".hidden.py", "x"), ("logo.png", "\0"),
    ):
        (folder / name).write_text(text)
    program = tmp_path / "other" / "area.py"
    program.parent.mkdir()
    program.write_text("from shapes import side\n\ndef area(n):\n    return side(n)\n")
    task = from_command_line(
        Inputs(str(program), tests=["assert area(1) == 1"], with_files=[folder])
    ).task
    assert [one.path for one in task.support] == [
        "shapes/__init__.py", "shapes/base.py", "shapes/more/rates.json"
    ]
