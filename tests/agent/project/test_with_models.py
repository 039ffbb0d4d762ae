"""A project whose fault no search reaches, and servers that answer by role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.core.domain import File, Project, Solution, Task
from agent.core.settings import Settings
from agent.log.result import Result
from agent.run.session import open_session
from tests.agent.claude import Claude, claude
from tests.agent.model_runs import events, followed
from tests.agent.project.small_project import scripts
from tests.llm.fakes.anthropic import answers, whole

NAMES, TAGS, TESTS = "src/post/names.py", "src/post/tags.py", "tests/test_post.py"
FILES = {
    "pyproject.toml": '[project]\nname = "post"\n',
    "src/post/__init__.py": "",
    NAMES: (
        "from .tags import tag\n"
        "\n"
        "\n"
        "def address(first, last):\n"
        "    return tag(first, last)\n"
        "\n"
        "\n"
        "def short(first):\n"
        "    return first[:1]\n"
    ),
    TAGS: (
        "def tag(first, last):\n"
        "    return first\n"
        "\n"
        "\n"
        "def plain(text):\n"
        "    return text\n"
    ),
    TESTS: (
        "from post.names import address, short\n"
        "from post.tags import plain, tag\n"
        "\n"
        "\n"
        "def test_address():\n"
        "    assert address('ann', 'lee') == '<Lee, A.>'\n"
        "\n"
        "\n"
        "def test_tag():\n"
        "    assert tag('A', 'lee') == 'Lee, A.'\n"
        "\n"
        "\n"
        "def test_plain():\n"
        "    assert plain('x') == 'x'\n"
        "\n"
        "\n"
        "def test_short():\n"
        "    assert short('ann') == 'a'\n"
    ),
}
FAILING = [f"{TESTS}::test_address", f"{TESTS}::test_tag"]
EVERY = [f"{TESTS}::test_{name}" for name in ("address", "tag", "plain", "short")]


def edit(path: str, *pairs: tuple[str, str]) -> str:
    blocks = [
        f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE" for old, new in pairs
    ]
    return "\n".join([f"FILE {path}", *blocks, ""])


OLD_ADDRESS, OLD_TAG = "    return tag(first, last)", "    return first\n\n\ndef plain(text):"
NEW_TAG = '    return f"{last.title()}, {first}."\n\n\ndef plain(text):'
RIGHT_TAG = edit(TAGS, (OLD_TAG, NEW_TAG))
RIGHT_ADDRESS = edit(NAMES, (OLD_ADDRESS, '    return f"<{tag(short(first).upper(), last)}>"'))
RIGHT = RIGHT_ADDRESS + RIGHT_TAG
WRONG = edit(TAGS, (OLD_TAG, NEW_TAG.replace(".title()", ".swapcase().strip('qzj')")))


def task(**changes: Any) -> Task:
    editable = ("src/post/__init__.py", NAMES, TAGS)
    project = Project(
        root="/none/post", name="post", import_roots=("src", ""), editable=editable,
        tests=tuple(EVERY), **changes,
    )
    tests = [
        one.model_copy(update={"code": FILES[TESTS], "file": TESTS}) if one.name in EVERY
        else one.model_copy(update={"without": tuple(FAILING)})
        for one in scripts(FAILING)
    ]
    files = tuple(File(path=path, text=FILES[path]) for path in editable)
    return Task(
        solution=Solution(files=files, entry=NAMES), tests=tuple(tests), project=project,
        support=tuple(File(path=path, text=text) for path, text in FILES.items()),
    )


async def healed(given: Settings, brought: Task | None = None) -> tuple[Result, list[Any]]:
    async with open_session(given) as session:
        run = await session.start(brought or task())
        return await followed(session, run), events(session.log(run))


def asked(model: Claude, role: str) -> list[str]:
    """What the role was told, one text a question."""
    return [
        seen.json["messages"][-1]["content"]
        for name, seen in zip(model.asked, model.server.seen, strict=True) if name == role
    ]


async def test_a_fault_of_two_files_is_healed_by_edits_in_both(tmp_path: Path) -> None:
    async with claude(generator=[WRONG, RIGHT]) as model:
        result, told = await healed(model.settings(tmp_path))
    assert (result.outcome, result.strategy) == ("healed", "model"), result.reason
    files = dict(result.files)
    assert "short(first).upper()" in files[NAMES] and "last.title()" in files[TAGS]
    assert result.diff.count("--- a/") == 2
    assert result.report is not None and len(result.report.verdicts) == 4
    # The wrong one left nothing, and its failure was told.
    assert "swapcase" not in str(files)
    first, second = asked(model, "generator")
    for shown in (FILES[NAMES], FILES[TAGS], "def test_address", "'ann' == '<Lee, A.>'",
                  f"{TAGS}, line 1 ("):
        assert shown in first
    assert "swapcase" in second and "lEE" not in first
    assert "passes 2 of 4 tests" in second
    assert "FILE src/post/tags.py" in asked(model, "debugger")[0]
    assert model.asked[-2:] == ["critic", "memory_summariser"]
