"""Prompts that change while the program runs: at the next call, and never for the worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.settings import BadSettings
from agent.iteration.context import PROMPTS
from agent.loop.session import open_session
from agent.report.result import Result
from tests.agent.claude import claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, followed, from_page, healed

AS_IT_IS = (PROMPTS / "critic.yaml").read_text("utf-8")
NEWER = AS_IT_IS.replace("careful colleague", "calm colleague")
BROKEN = AS_IT_IS.replace("max_tokens:", "max_words:")
RENAMED = AS_IT_IS.replace("{{repair}}", "{{change}}").replace("\n  repair:", "\n  change:")
"""Read well, and useless for what it is given."""


@pytest.mark.nightly
async def test_a_changed_prompt_counts_from_the_next_call(tmp_path: Path) -> None:
    own = tmp_path / "prompts"
    own.mkdir()
    file = own / "critic.yaml"
    file.write_text(AS_IT_IS, "utf-8")
    async with claude(generator=fenced(SOLVED)) as model:
        settings = model.settings(
            tmp_path / "runs", prompts=own, enable_search=False, enable_cross_session_memory=False,
            proof_s=0.0,
        )
        async with open_session(settings) as session:

            async def run() -> tuple[Result, str]:
                asked = len(model.asked)
                task = from_page(HARD, HARD_TESTS, "").task
                result = await followed(session, await session.start(task))
                place = model.asked.index("critic", asked)
                return result, model.system(model.server.seen[place].json)

            first, said = await run()
            assert "calm colleague" not in said
            assert first.notices == ()
            file.write_text(NEWER, "utf-8")
            changed, said = await run()
            assert "calm colleague" in said
            (notice,) = changed.notices
            assert "critic.yaml" in notice.text
            file.write_text(BROKEN, "utf-8")
            kept, said = await run()
            assert "calm colleague" in said
            (notice,) = kept.notices
            assert notice.level == "warning"
            assert "max_tokens" in notice.text
            assert [one.role for one in kept.degraded] == ["critic"]
            file.write_text(RENAMED, "utf-8")
            useless, said = await run()
            assert "calm colleague" in said
            (notice,) = useless.notices
            assert "templates.review" in notice.text
    assert [one.outcome for one in (first, changed, kept, useless)] == ["healed"] * 4


@pytest.mark.parametrize(("name", "text", "told"), [
    ("critics.yaml", AS_IT_IS, r"critics\.yaml"), ("", "", ""),
    ("critic.yaml", BROKEN, "max_tokens"), ("critic.yaml", RENAMED, "templates.review"),
])
async def test_a_folder_of_prompts_that_would_do_nothing_is_refused(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    own = tmp_path / "prompts"
    if name:
        own.mkdir()
        (own / name).write_text(text, "utf-8")
    async with claude() as model:
        with pytest.raises(BadSettings, match=f"HEAL_PROMPTS: .*{told}"):
            await healed(model.settings(tmp_path, prompts=own))


async def test_steps_and_roles_that_failed_stand_in_the_result(tmp_path: Path) -> None:
    async with claude(generator=fenced(SOLVED), qa_adversary="no JSON") as model:
        result, _ = await healed(
            model.settings(tmp_path), "", HARD_TESTS, "Write shout(words)."
        )
    assert [(one.step, one.role) for one in result.degraded] == [("attack", "qa_adversary")]
    assert result.metrics["attack"].calls == 2  # asked again once
    assert result.metrics["execute"].calls == 0
    assert sum(one.calls for one in result.metrics.values()) == result.calls == len(model.asked)
