"""A project whose fault no search reaches, and servers that answer by role."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from agent.core.domain import File, Project, Script, Solution, SuspectFile, SuspectFunction, Task
from agent.core.events import Event, ToolCalled
from agent.core.settings import Settings
from agent.iteration.context import PROMPTS, Context
from agent.loop.session import open_session
from agent.propose.several_files import edited_solution
from agent.propose.wording import shown_files, texts_of_tests
from agent.report.result import Result
from llm import BadReply
from llm.asking.prompts import Prompts
from llm.errors import Truncated
from llm.types import Finish
from tests.agent.claude import RIGHT_CALLS, Claude, Said, claude
from tests.agent.model_runs import events, followed
from tests.agent.search.project.small_project import pyproject, scripts
from tests.llm.scripted import Answer, Scripted

NAMES, TAGS, TESTS = "src/post/names.py", "src/post/tags.py", "tests/test_post.py"
FILES = {
    "pyproject.toml": pyproject("post"),
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
NEW_TAG = '    return last.title() + ", " + first + "."\n\n\ndef plain(text):'
RIGHT_TAG = edit(TAGS, (OLD_TAG, NEW_TAG))
NEW_ADDRESS = '    return "<" + tag(short(first).upper(), last) + ">"'
RIGHT_ADDRESS = edit(NAMES, (OLD_ADDRESS, NEW_ADDRESS))
RIGHT = RIGHT_ADDRESS + RIGHT_TAG
OPAQUE = ("    return text", "    return ''.join(sorted(f'{text}?{text}'))")
BREAKING = RIGHT_ADDRESS + edit(TAGS, (OLD_TAG + "\n" + OPAQUE[0], NEW_TAG + "\n" + OPAQUE[1]))
NEARLY = edit(NAMES, (OLD_ADDRESS, NEW_ADDRESS.replace("last)", "first)"))) + RIGHT_TAG
WRONG = edit(TAGS, (OLD_TAG, NEW_TAG.replace(".title()", ".swapcase().strip('qzj')")))


def task(**changes: Any) -> Task:
    editable = ("src/post/__init__.py", NAMES, TAGS)
    project = Project(
        root="/none/post", name="post", import_roots=("src", ""), editable=editable,
        tests=tuple(EVERY), **changes,
    )
    tests = [
        one.model_copy(update={"code": FILES[TESTS], "file": TESTS}) if one.name in EVERY
        else one.model_copy(update={"excluded_nodes": tuple(FAILING)})
        for one in scripts(FAILING)
    ]
    files = tuple(File(path=path, text=FILES[path]) for path in editable)
    return Task(
        solution=Solution(files=files, entry=NAMES), tests=tuple(tests), project=project,
        support=tuple(File(path=path, text=text) for path, text in FILES.items()),
    )


async def healed(given: Settings, submitted: Task | None = None) -> tuple[Result, list[Any]]:
    async with open_session(given) as session:
        run = await session.start(submitted or task())
        return await followed(session, run), events(session.log(run))


def found(tool: str = "", arguments: str = "") -> str:
    """What the debugger says."""
    known = json.loads(RIGHT_CALLS["debugger"])
    return json.dumps(known | ({"tool": tool, "arguments": arguments} if tool else {}))


def asked(model: Claude, role: str) -> list[Any]:
    """What the role was told at last, a question each."""
    return [
        seen.json["messages"][-1]["content"]
        for name, seen in zip(model.asked, model.server.seen, strict=True) if name == role
    ]


@pytest.mark.nightly
async def test_a_fault_of_two_files_is_healed_by_edits_in_both(tmp_path: Path) -> None:
    debugger: list[Said] = [found("file_read", json.dumps({"path": TESTS})), found()]
    async with claude(generator=[WRONG, BREAKING, RIGHT], debugger=debugger) as model:
        result, told = await healed(
            model.settings(tmp_path, max_candidates=20, parallel_strategies=1)
        )
    assert (result.outcome, result.strategy) == ("healed", "model"), result.reason
    files = dict(result.files)
    assert "short(first).upper()" in files[NAMES] and "last.title()" in files[TAGS]
    assert result.diff.count("--- a/") == 2
    assert result.report is not None and len(result.report.verdicts) == 4
    # The wrong one left nothing, and its failure was told.
    assert "swapcase" not in str(files)
    first, second, third = asked(model, "generator")
    for shown in (FILES[NAMES], FILES[TAGS], "def test_address", "'ann' == '<Lee, A.>'",
                  f"{TAGS}, line 1 ("):
        assert shown in first
    assert "swapcase" in second and "lEE" not in first
    assert "2 of 4 tests" in second
    # Nor is one kept that makes another test fail.
    assert "3 of 4 tests" in third and "tests/test_post.py::test_plain" in third
    # The debugger has looked around first.
    question, answer = asked(model, "debugger")
    assert f"FILE {TAGS}" in question
    assert "file_read" in answer and "def test_short():" in answer
    (looked,) = [one for one in told if isinstance(one, ToolCalled)]
    assert looked.tool == "file_read" and "def test_short():" in looked.result
    for name in ("file_read", "run_tests", "run_snippet", "trace_call"):
        assert f"\n{name}: " in question
    assert model.asked[-2:] == ["critic", "memory_summariser"]
    # The same fault again, in files that have changed since: memory heals it, in both.
    again = task()
    assert again.solution is not None
    again = again.model_copy(update={"solution": again.solution.with_texts({
        NAMES: f"# names\n{FILES[NAMES]}", "src/post/__init__.py": "WIDTH = 80\n",
    })})
    async with claude() as model:
        replayed, _ = await healed(model.settings(tmp_path, max_candidates=20), again)
    assert (replayed.outcome, replayed.strategy, replayed.calls) == ("healed", "memory", 0)
    assert replayed.candidates == 0 < result.candidates
    assert replayed.diff.count("--- a/") == 2
    kept = dict(replayed.files)[NAMES]
    assert kept.startswith("# names\n") and "short(first).upper()" in kept


@pytest.mark.nightly
async def test_what_is_nearly_right_is_searched_around(tmp_path: Path) -> None:
    async with claude(generator=[NEARLY], debugger=found()) as model:
        result, _ = await healed(model.settings(tmp_path, max_candidates=200))
    assert (result.outcome, result.strategy) == ("healed", "model"), result.reason
    assert "last) +" in dict(result.files)[NAMES]
    assert "anthropic/claude-sonnet-5-5, and `, first)` → `, last)`" in result.reason
    assert model.asked.count("generator") == 1


@pytest.mark.nightly
async def test_models_are_asked_only_after_search_and_within_budget(tmp_path: Path) -> None:
    async with claude(generator=[RIGHT], debugger=found()) as model:
        easy = task()
        assert easy.solution is not None
        wrong = NEW_TAG.replace("first", "last")
        repaired = easy.solution.with_texts({
            NAMES: FILES[NAMES].replace(OLD_ADDRESS, NEW_ADDRESS),
            TAGS: FILES[TAGS].replace(OLD_TAG, wrong),
        })
        result, _ = await healed(
            model.settings(tmp_path / "a", max_candidates=400),
            easy.model_copy(update={"solution": repaired}),
        )
        assert (result.outcome, result.strategy, result.calls) == ("healed", "search", 0)
        result, _ = await healed(
            model.settings(tmp_path / "b", max_candidates=20, budget_usd=0.0001)
        )
        assert (result.outcome, result.calls, result.diff) == ("budget", 0, "")
        assert model.asked == []


# One answer, without a run.


@dataclass(frozen=True)
class Surroundings:
    """What one question of the generator needs of a context."""

    model: Scripted
    task: Task
    prompts = Prompts(PROMPTS)

    def emit(self, event: Event) -> None:
        raise AssertionError(event)

    async def answerer(self, role: str, *, rules_only: bool = False) -> Scripted:
        return self.model


async def answered(*said: str, finish: Finish = "stop") -> tuple[Solution, Scripted]:
    """What an answer makes of the project, and the model with what it was asked."""
    submitted = task()
    assert submitted.solution is not None
    model = Scripted([Answer((one,), finish=finish) for one in said])
    names = ("files", "task", "tests", "failures", "diagnosis", "suspects", "lessons", "attempts")
    ctx = cast(Context, Surroundings(model, submitted))  # only these fields are read
    made = await edited_solution(submitted.solution, ctx, dict.fromkeys(names, "x"))
    return made, model


@pytest.mark.parametrize(("refused", "fact"), [
    (edit(TESTS, ("    assert short('ann') == 'a'", "    pass")), TESTS),
    (edit("pyproject.toml", ('name = "post"', "x = 1")), "pyproject.toml"),
    (edit("../outside.py", ("a", "b")), "../outside.py"),
    (edit(NAMES, ("", "x")), NAMES),
    (edit(TAGS, ("    return last", "x")), TAGS),
    (RIGHT.split("\n", 1)[1], "'FILE path'"),
])
async def test_a_refused_edit_changes_nothing(refused: str, fact: str) -> None:
    made, model = await answered(refused, RIGHT)
    assert fact in model.asked[1].messages[-1].text
    submitted = task().solution
    assert submitted is not None
    assert {one.path for one in made.changed_from(submitted)} == {NAMES, TAGS}
    with pytest.raises(BadReply):
        await answered(refused, refused)


async def test_an_answer_that_was_cut_makes_no_edit() -> None:
    with pytest.raises(Truncated):
        await answered(RIGHT, finish="length")


def test_of_long_files_the_model_sees_what_is_suspect_and_what_its_tests_use() -> None:
    filler = "".join(f"def other_{n}(a):\n    return a + {n}\n\n\n" for n in range(900))
    long = f"import re\n\n\n{filler}def wrong(a):\n    return a\n"
    solution = Solution(files=(File(path="a.py", text=long), File(path="b.py", text="")),
                        entry="a.py")
    line = long[: long.index("def wrong")].count("\n") + 1
    suspect = SuspectFile(file="a.py", suspicion=1.0, functions=(
        SuspectFunction(name="wrong", line=line, suspicion=1.0),
    ))
    assert shown_files(solution, [suspect]) == (
        f"FILE a.py\nimport re\n\n\n[lines 4 to {line - 1} are not shown]\n"
        "def wrong(a):\n    return a\n\nNot shown, and may be edited too: b.py"
    )
    code = f"import a\n\n{filler}def helper(b):\n    return a.wrong(b)\n\n" \
        "def test_wrong():\n    assert helper(1) == 2\n"
    script = Script(name="t", origin="user", code=code, node="tests/t.py::test_wrong",
                    file="tests/t.py")
    assert texts_of_tests([script]) == (
        "FILE tests/t.py\nimport a\ndef helper(b):\n    return a.wrong(b)\n"
        "def test_wrong():\n    assert helper(1) == 2"
    )
