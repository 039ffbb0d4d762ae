"""What a run does with the confidence of its patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.events import Notice, Proved
from agent.interfaces.exits import (
    BELOW_REQUIREMENT,
    HEALED,
    Requirements,
    exit_code,
    with_missed_requirement,
)
from agent.interfaces.next_step import TERMINAL, next_step
from agent.loop.session import open_session
from agent.report.result import fold
from agent.target.task import from_page
from tests.agent.claude import claude
from tests.agent.model_runs import fenced, healed
from tests.agent.runs import PROVING_S, finished, settings

EASY = "def double(x):\n    return x - x\n"
TEST = "assert double(3) == 6"
FIXED = "def double(x):\n    return x + x\n"


async def run(folder: Path, required: float, code: str = EASY, tests: str = TEST):  # type: ignore[no-untyped-def]
    async with open_session(settings(folder, require_confidence=required)) as session:
        return fold(await finished(session, from_page(code, tests, "").task))


async def test_a_patch_below_the_required_confidence_is_only_proposed(tmp_path: Path) -> None:
    result = await run(tmp_path, 1.0)
    assert result.outcome == "proposed" and not result.healed
    assert result.confidence is not None and 0.3 <= result.confidence < 1.0
    assert result.unsure and result.diff and result.files
    assert exit_code(result) == BELOW_REQUIREMENT
    accepted = Requirements(accept_proposed=True)
    assert exit_code(result, accepted) == HEALED
    assert next_step(result, TERMINAL, accepted) == ""
    less = await run(tmp_path, 0.0)
    assert (less.outcome, exit_code(less)) == ("healed", HEALED)


async def test_a_missed_proof_makes_a_repair_a_proposal(tmp_path: Path) -> None:
    healed = await run(tmp_path, 0.0)
    least = Requirements(proof="E2")
    found = with_missed_requirement(healed, least)
    assert (healed.outcome, found.outcome) == ("healed", "proposed")
    assert exit_code(healed, least) == BELOW_REQUIREMENT
    assert "Proof E2 is required" in found.reason
    assert with_missed_requirement(healed, Requirements()).outcome == "healed"


async def test_a_crash_that_merely_stops_is_accepted_on_request(tmp_path: Path) -> None:
    crashes = "def size(text):\n    return len(text)\n\nprint(size('a'))\nprint(siz('b'))\n"
    result = await run(tmp_path, 0.9, crashes, "")
    assert (result.outcome, exit_code(result)) == ("crash_stopped", BELOW_REQUIREMENT)
    reason = with_missed_requirement(result, Requirements()).reason
    assert "--accept-proposed" in reason and "E1" not in reason
    assert exit_code(result, Requirements(accept_proposed=True)) == HEALED
    assert exit_code(result, Requirements(accept_proposed=True, proof="E1")) == BELOW_REQUIREMENT


async def test_mutants_that_the_tests_notice_count_at_e1_too(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, proof_s=PROVING_S)) as session:
        log = await finished(session, from_page(EASY, TEST, "").task)
    [proved] = [one.event for one in log if isinstance(one.event, Proved)]
    assert proved.level == "E1" and proved.features["killed"] > 0


@pytest.mark.nightly
async def test_an_unlikely_patch_is_listed_and_not_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.loop.steps.finish.MIN_PROPOSED_CONFIDENCE", 0.999)
    result = await run(tmp_path, 1.0)
    assert result.outcome == "unresolved" and result.code == EASY and not result.diff
    assert result.patch is not None and result.patch.diff and result.confidence is not None


async def test_only_what_counts_as_healed_is_remembered_with_its_confidence(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, require_confidence=1.0)) as session:
        await finished(session, from_page(EASY, TEST, "").task)
        assert session.memory().fixes() == ()
    async with open_session(settings(tmp_path)) as session:
        result = fold(await finished(session, from_page(EASY, TEST, "").task))
        [known] = session.memory().fixes()
        assert known.fix.confidence == result.confidence
        again = fold(await finished(session, from_page(EASY, TEST, "").task))
    assert again.strategy == "memory" and again.confidence == pytest.approx(result.confidence)


async def test_a_model_that_agrees_raises_the_confidence(tmp_path: Path) -> None:
    alone = await run(tmp_path / "alone", 1.0)
    async with claude(generator=[fenced(FIXED)]) as model:
        result, told = await healed(
            model.settings(tmp_path, require_confidence=1.0, max_candidates=300, proof_s=60.0),
            EASY, TEST,
        )
    assert any(isinstance(one, Notice) for one in told)
    assert result.strategy == "model" and result.outcome == "proposed"
    assert alone.confidence is not None and result.confidence is not None
    assert result.confidence > alone.confidence


@pytest.mark.nightly
async def test_the_searchs_patch_is_kept_where_the_model_brings_none(tmp_path: Path) -> None:
    async with claude(generator=[fenced("def double(x):\n    return 7\n")] * 9) as model:
        result, told = await healed(
            model.settings(
                tmp_path, require_confidence=1.0, max_candidates=300, max_iterations=2,
                proof_s=60.0,
            ), EASY, TEST,
        )
    assert (result.outcome, result.strategy) == ("proposed", "search")
    assert result.report is not None and result.report.passed
    assert [one for one in told if isinstance(one, Proved)][-1].confidence == result.confidence
