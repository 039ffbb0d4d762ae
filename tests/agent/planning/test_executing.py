"""Tasks of several steps from Python, over a real jail: by rules, and by a scripted planner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent import AgentConfig, SelfHealingAgent, Workspace
from agent.report.words import event_lines
from llm import BadReply, NoModel
from llm.errors import OverBudget, TimedOut
from tests.agent.claude import Claude, Said, claude
from tests.agent.search.project.small_project import pyproject
from tests.llm.fakes.server import stalls

CART = "def total(prices):\n    return sum(prices) - 1\n"
FILES = {
    "pyproject.toml": pyproject("shop"), "shop/__init__.py": "", "shop/cart.py": CART,
    "test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n"
                    "    assert total([1, 2]) == 3\n",
}


def step(tool: str, *needs: int, **arguments: Any) -> dict[str, object]:
    return {
        "what": f"use {tool}", "tool": tool, "arguments": json.dumps(arguments), "needs": [*needs],
    }


def steps(*given: dict[str, object]) -> str:
    return json.dumps({"steps": given})


async def executed(folder: Path, task: str, planner: Said | list[Said], **given: Any) -> Any:
    """What a task comes to with a scripted planner, and the server."""
    async with claude(planner=planner) as model:
        result = await asked(model, folder).aexecute(task, Workspace(FILES), **given)
        return result, model


def asked(model: Claude, folder: Path) -> SelfHealingAgent:
    return SelfHealingAgent(config=AgentConfig.from_env(
        {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": model.server.url}, data_dir=folder,
    ))


@pytest.mark.nightly
def test_plain_words_are_done_without_a_model_on_a_copy(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for path, text in FILES.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, "utf-8")
    config = AgentConfig(provider="mock", data_dir=tmp_path / "data", proof_s=0.0)
    agent = SelfHealingAgent(config=config)
    result = agent.execute("read cart.py, then heal the failing tests, then run the tests", project)
    assert result.success, result.plan.summary()
    assert [one.status for one in result.plan.steps] == [
        "replaced", "done", "done", "done", "done"  # the file was looked for by its name
    ]
    healed = next(one for one in result.plan.steps if one.tool == "heal_tests")
    assert (healed.output["outcome"], healed.output["cost_usd"]) == ("healed", 0.0)
    assert "+    return sum(prices)\n" in result.diff
    assert result.cost_usd == 0
    assert (project / "shop/cart.py").read_text("utf-8") == CART
    told = [line.text for one in result.log for line in event_lines(one.event)]
    assert any("2" in one and "heal the failing tests" in one for one in told)


def test_without_a_model_it_is_said_which_part_needs_one(tmp_path: Path) -> None:
    agent = SelfHealingAgent("mock", data_dir=tmp_path)
    with pytest.raises(NoModel, match="make it faster"):
        agent.execute("run the tests, then make it faster", Workspace(FILES))


async def test_a_model_plans_what_no_rule_knows_with_tools_that_there_are(tmp_path: Path) -> None:
    wrong = steps(step("fly", to="the moon"))
    right = steps(
        step("edit_file", path="shop/cart.py", old_content=" - 1", new_content=""),
        step("run_tests", 1),
    )
    result, model = await executed(tmp_path, "make total right", [wrong, right])
    assert result.success, result.plan.summary()
    assert model.asked == ["planner", "planner"]
    again = model.server.seen[1].json["messages"][0]["content"]
    assert [fact for fact in ("'fly'", "shop/cart.py", "heal_tests") if fact not in again] == []
    kinds = [one.event.kind for one in result.log]
    assert kinds.count("model_called") == 2
    assert kinds[-2:] == ["plan_stepped", "plan_stepped"]
    assert result.cost_usd is not None and result.cost_usd > 0


async def test_steps_that_are_wrong_twice_are_no_plan(tmp_path: Path) -> None:
    with pytest.raises(BadReply, match="'fly'"):
        await executed(tmp_path, "go", steps(step("fly")))


async def test_where_a_step_fails_the_model_plans_anew_what_is_left(tmp_path: Path) -> None:
    first = steps(
        step("edit_file", path="shop/cart.py", old_content=" - 2", new_content=""),
        step("run_tests", 1),
    )
    second = steps(
        step("edit_file", path="shop/cart.py", old_content=" - 1", new_content=""),
        step("run_tests", 1),
    )
    result, model = await executed(tmp_path, "make total right", [first, second])
    assert result.success, result.plan.summary()
    assert [one.status for one in result.plan.steps] == ["replaced", "replaced", "done", "done"]
    told = model.server.seen[1].json["messages"][0]["content"]
    assert "old_content" in told
    stubborn, model = await executed(tmp_path, "make total right", first)
    assert model.asked == ["planner"] * 3  # twice anew, and no more
    assert not stubborn.success
    assert stubborn.diff == ""
    kept, model = await executed(tmp_path, "make total right", first, replan_on_failure=False)
    assert (model.asked, kept.success) == (["planner"], False)


@pytest.mark.nightly
async def test_a_plan_anew_cannot_leave_out_the_tests_that_failed(tmp_path: Path) -> None:
    first = steps(step("run_tests"))
    easy = steps(step("file_read", path="shop/cart.py"))
    result, _ = await executed(tmp_path, "make total right", [first, easy])
    assert not result.success, result.plan.summary()
    assert [one.tool for one in result.plan.steps][:3] == ["run_tests", "file_read", "run_tests"]
    mending = steps(step("edit_file", path="shop/cart.py", old_content=" - 1", new_content=""))
    repaired, _ = await executed(tmp_path, "make total right", [first, mending])
    assert repaired.success, repaired.plan.summary()


@pytest.mark.nightly
async def test_a_heal_of_a_project_within_the_copy_lands_in_its_place(tmp_path: Path) -> None:
    files = {f"inner/{path}": text for path, text in FILES.items()}
    workspace = Workspace(files | {"shop/__init__.py": "", "shop/cart.py": "# another\n"})
    async with claude(planner=steps(step("heal_tests", tests="inner/test_cart.py"))) as model:
        result = await asked(model, tmp_path).aexecute("go", workspace)
    assert result.success, result.plan.summary()
    assert workspace.read("shop/cart.py") == "# another\n"
    assert workspace.read("inner/shop/cart.py") == CART.replace(" - 1", "")


@pytest.mark.parametrize("tests", ["/tests/test_a.py", "../test_a.py::test_one"])
async def test_a_heal_outside_of_the_copy_is_refused(tmp_path: Path, tests: str) -> None:
    result, _ = await executed(
        tmp_path, "go", steps(step("heal_tests", tests=tests)), replan_on_failure=False
    )
    (healing,) = result.plan.steps
    assert (healing.status, result.success) == ("failed", False)
    assert tests.partition("::")[0] in healing.report


async def test_planning_spends_no_more_than_a_run_may(tmp_path: Path) -> None:
    async with claude(planner=steps(step("run_tests"))) as model:
        agent = asked(model, tmp_path)
        assert agent.config is not None
        agent.config = agent.config.model_copy(update={"budget_calls": 0})
        with pytest.raises(OverBudget, match="calls"):
            await agent.aexecute("go", Workspace(FILES))
    assert model.asked == []


async def test_what_a_plan_that_failed_has_cost_is_told(tmp_path: Path) -> None:
    async with claude(planner="no plan") as model:
        with pytest.raises(BadReply) as caught:
            await asked(model, tmp_path).aexecute("go", Workspace(FILES))
    spent = caught.value.spent
    assert spent is not None and spent.usd > 0
    assert spent.calls == len(model.asked) == 2


def test_a_plan_that_writes_over_tests_says_so(tmp_path: Path) -> None:
    agent = SelfHealingAgent("mock", data_dir=tmp_path)
    result = agent.execute("write `x = 1` to test_cart.py, then append `#` to shop/cart.py",
                           Workspace(FILES))
    assert (result.success, result.changed_tests) == (True, ("test_cart.py",))
    assert "test_cart.py" in result.summary.splitlines()[-1]


@pytest.mark.parametrize(("task", "mode", "fact"), [
    (" ", "sequential", ""), ("run the tests", "hasty", "'hasty'"),
    ("run the tests", "interactive", "approve="),
])
async def test_what_cannot_be_executed_is_refused_before_a_model_is_asked(
    tmp_path: Path, task: str, mode: Any, fact: str
) -> None:
    async with claude(planner=steps()) as model:
        with pytest.raises(ValueError, match=fact or None):
            await asked(model, tmp_path).aexecute(task, Workspace(FILES), mode=mode)
        assert model.asked == []


async def test_a_planner_that_hangs_is_waited_for_no_longer_than_a_run(tmp_path: Path) -> None:
    async with claude(planner=stalls) as model:
        agent = asked(model, tmp_path)
        agent.budget_s = 1.0
        with pytest.raises(TimedOut, match="1"):
            await agent.aexecute("make total right", Workspace(FILES))
