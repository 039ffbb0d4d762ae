"""Plans: what may be a step, in which order steps run, what a failure leaves, and who approves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent import BadPlan, Plan, ToolRegistry, Workspace, open_tools, run_plan
from agent.core.events import PlanStepped
from agent.planning.plan import PlanStep
from agent.planning.rules import add_by_rule, parts
from agent.tools.errors import ToolError


class Files:
    """Tools as the workspace's are named, over a real one, that tell how they were called."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self.workspace = Workspace(files or {"src/a.py": "x = 1\n", "b.py": "y = 2\n"})
        self.called: list[str] = []
        self.reading = 0
        self.at_once = 0
        self.tools = ToolRegistry()
        for one in (self.file_read, self.file_list, self.file_write, self.shell, self.run_tests):
            self.tools.register(one)

    async def file_read(self, path: str) -> str:
        """Read."""
        self.reading += 1
        self.at_once = max(self.at_once, self.reading)
        await asyncio.sleep(0)
        self.reading -= 1
        self.called.append(f"read {path}")
        return self.workspace.read(path)

    async def file_list(self, pattern: str = "*") -> list[str]:
        """List."""
        self.called.append(f"list {pattern}")
        return [path for path in self.workspace.files if path.endswith(pattern.lstrip("*"))]

    async def file_write(self, path: str, content: str) -> str:
        """Write, and fail where the content says so."""
        self.workspace.write(path, content)
        self.called.append(f"write {path}")
        if content == "fail":
            raise ToolError("it was to fail")
        return "written"

    async def shell(self, command: str) -> dict[str, Any]:
        """Run, and write."""
        self.workspace.write("made.txt", command)
        self.called.append(command)
        return {"exit_code": 1 if "bad" in command else 0, "stdout": "", "error": ""}

    async def run_tests(self, test_command: str = "pytest") -> dict[str, Any]:
        """Test."""
        self.called.append(test_command)
        return {"green": "red" not in test_command}

    def plan(self, *steps: tuple[Any, ...], **given: Any) -> Plan:
        plan = Plan(self.tools, **given)
        for tool, arguments, *needs in steps:
            plan.add_step(tool, arguments, needs=needs)
        return plan

    async def run(self, *steps: tuple[Any, ...], **given: Any) -> Plan:
        plan = self.plan(*steps)
        await run_plan(plan, self.workspace, **given)
        return plan


def statuses(plan: Plan) -> list[str]:
    return [one.status for one in plan.steps]


@pytest.mark.parametrize(("step", "fact"), [
    ({"tool": "fly"}, "'fly'"), ({"tool": "file_read"}, "'path'"),
    ({"tool": "file_read", "arguments": {"path": 3}}, "3.*'string'"),
    ({"tool": "file_list", "needs": [2]}, "2"),
])
def test_an_invalid_step_is_refused_before_a_run(step: dict[str, Any], fact: str) -> None:
    with pytest.raises(BadPlan, match=fact):
        Plan(Files().tools).add_step(**step)


def test_a_plan_has_no_more_steps_than_it_may() -> None:
    with pytest.raises(BadPlan, match="1"):
        Files().plan(("file_list", {}), ("file_list", {}), max_steps=1)


async def test_steps_wait_for_what_they_need_and_the_summary_tells_all() -> None:
    files = Files()
    told: list[PlanStepped] = []
    plan = files.plan(
        ("file_write", {"path": "c.py", "content": "z"}), ("file_read", {"path": "c.py"}, 1),
        emit=told.append,
    )
    await run_plan(plan, files.workspace)
    assert plan.success
    assert files.called == ["write c.py", "read c.py"]
    first, second = plan.summary().splitlines()
    for fact in ("1", "done", "file_write(path='c.py', content='z')", "written"):
        assert fact in first
    assert "file_read(path='c.py')" in second and second.endswith("z")
    assert [(one.step, one.status) for one in told] == [(1, "done"), (2, "done")]


@pytest.mark.parametrize("bad", [
    ("file_write", {"path": "b.py", "content": "fail"}), ("shell", {"command": "bad"}),
    ("run_tests", {"test_command": "red"}),
])
async def test_a_failed_step_is_undone_with_its_followers(bad: tuple[str, dict[str, Any]]) -> None:
    files = Files()
    plan = await files.run(
        ("file_write", {"path": "c.py", "content": "kept"}), (*bad, 1), ("file_list", {}, 2),
        ("file_list", {}, 3), ("file_read", {"path": "b.py"}),
    )
    assert statuses(plan) == ["done", "failed", "skipped", "skipped", "done"]
    assert not plan.success
    assert files.workspace.files == {"src/a.py": "x = 1\n", "b.py": "y = 2\n", "c.py": "kept"}


async def test_only_steps_that_read_run_side_by_side_and_only_where_that_is_asked_for() -> None:
    steps = [("file_read", {"path": "b.py"}), ("file_read", {"path": "src/a.py"})]
    alone, together = Files(), Files()
    await alone.run(*steps)
    plan = await together.run(
        *steps, ("shell", {"command": "one"}), ("shell", {"command": "two"}), mode="parallel"
    )
    assert (alone.at_once, together.at_once) == (1, 2)
    assert plan.success


async def test_each_step_is_put_to_a_person_in_the_interactive_mode_alone() -> None:
    files = Files()
    asked: list[str] = []

    def approve(step: PlanStep) -> bool:
        asked.append(step.words)
        return step.tool != "shell"

    plan = await files.run(
        ("file_list", {}), ("shell", {"command": "one"}), ("file_list", {}, 2),
        mode="interactive", approve=approve,
    )
    assert statuses(plan) == ["done", "refused", "skipped"]
    assert asked == ["file_list()", "shell(command='one')"]
    assert "one" not in files.called
    for wrong in ({"mode": "interactive"}, {"approve": approve}):
        with pytest.raises(ValueError, match="approve="):
            await files.run(("file_list", {}), **wrong)


async def test_a_missing_file_becomes_a_search_and_its_step_is_done_where_that_is_found() -> None:
    files = Files()
    plan = await files.run(
        ("file_read", {"path": "lib/a.py"}), ("file_write", {"path": "n", "content": "m"}, 1)
    )
    assert files.called == ["read lib/a.py", "list *a.py", "read src/a.py", "write n"]
    assert statuses(plan) == ["replaced", "done", "done", "done"]
    assert plan.success
    off = Files()
    plan = await off.run(("file_read", {"path": "lib/a.py"}), replan_on_failure=False)
    assert (statuses(plan), off.called) == (["failed"], ["read lib/a.py"])


@pytest.mark.parametrize(("others", "fact"), [
    ({"xa.py": ""}, "lib/a.py"), ({"p/a.py": "", "q/a.py": ""}, "p/a.py, q/a.py"),
])
async def test_a_search_without_one_result_fails(others: dict[str, str], fact: str) -> None:
    files = Files(others)
    plan = await files.run(("file_read", {"path": "lib/a.py"}))
    assert statuses(plan) == ["replaced", "done", "failed"]
    assert fact in plan.steps[2].report


# Rules


@pytest.mark.parametrize(("task", "calls"), [
    ("run the tests", [("run_tests", {"test_command": "pytest"}, ())]),
    ("Run tests in tests/test_a.py.", [("run_tests", {"test_command": "pytest tests/test_a.py"},
                                        ())]),
    ("search for 'a then b' in *.py, then read `x y.py`", [
        ("search", {"pattern": "a\\ then\\ b", "file_pattern": "*.py"}, ()),
        ("file_read", {"path": "x y.py"}, ()),
    ]),
    ("replace `- 1` with `` in a.py; heal the failing tests and run the tests", [
        ("edit_file", {"path": "a.py", "old_content": "- 1", "new_content": ""}, ()),
        ("heal_tests", {}, (1,)), ("run_tests", {"test_command": "pytest"}, (2,)),
    ]),
    ("list files; read a.py; write 'x' to b; append \"y\" to b", [
        ("file_list", {"pattern": "*"}, ()), ("file_read", {"path": "a.py"}, ()),
        ("file_write", {"path": "b", "content": "x"}, (1, 2)),
        ("file_write", {"path": "b", "content": "y", "mode": "append"}, (3,)),
    ]),
    ("run `python a.py --now`", [("shell", {"command": "python a.py --now"}, ())]),
])
def test_plain_words_are_planned_without_a_model(task: str, calls: list[Any]) -> None:
    plan = Plan(standard())
    assert add_by_rule(plan, task) == ()
    assert [(one.tool, one.arguments, one.needs) for one in plan.steps] == calls


@pytest.mark.parametrize(("task", "unknown"), [
    ("make it faster", ("make it faster",)), ("run the tests, then explain why", ("explain why",)),
    ("look at the code", ("look at the code",)), ("", ("",)),
])
def test_what_no_rule_knows_is_named_alone(task: str, unknown: tuple[str, ...]) -> None:
    plan = Plan(standard())
    assert add_by_rule(plan, task) == unknown
    assert plan.steps == ()


def test_quotes_keep_a_part_together() -> None:
    assert parts("write 'a; b' to c; don't") == ("write 'a; b' to c", "don't")


def standard() -> ToolRegistry:
    tools = open_tools(Workspace())

    @tools.register
    async def heal_tests(tests: str = "") -> str:
        """Heal."""
        return tests

    return tools
