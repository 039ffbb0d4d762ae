"""What one run is asked to do differently is taken, or refused with the next step; and each option
changes the run."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from agent.core.settings import Settings
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.display import status_line
from agent.loop.run import Options
from agent.loop.session import open_session
from agent.report.result import fold
from agent.target.errors import BadInput
from agent.target.task import from_page
from demo.browser_state import OPTIONS
from demo.options import chosen
from demo.views.bench import workbench
from demo.views.required import required
from demo.web import build
from llm.budget import Caps
from tests.agent.runs import finished, settings
from tests.demo.recorded import RecordedSession, hosting

HOST = Settings.from_env({}, provider="mock")
CODE = "def area(width, height):\n    return width + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"


def asked(public: bool = False, **given: object) -> HealRequest:
    return chosen(
        {name.replace("_", "-"): value for name, value in given.items()}, HOST, public=public
    )


def test_nothing_that_is_chosen_leaves_all_as_the_settings_have_it() -> None:
    assert chosen(dict.fromkeys(OPTIONS), HOST, public=True) == HealRequest(require_proof="E1")
    assert chosen(dict.fromkeys(OPTIONS, ""), HOST, public=True) == HealRequest(require_proof="E1")


def test_what_is_chosen_is_read_from_fields_and_from_json_alike() -> None:
    found = asked(
        iterations=3, autonomy="review_all", ask=True, learn=False, require_proof="E3",
        require_integrity="isolated", require_confidence="80", usd="0.25", tokens=5000, calls="7",
        seconds="30", stdin="2\n3\n", args="--name 'two words' -v",
        files={"a.py": base64.b64encode(b"x").decode()},
    )
    assert found.run_arguments(pauses=True, asks=True) == {
        "max_iterations": 3, "autonomy_level": "review_all", "ask": True, "learn": False,
        "require_proof": "E3", "require_integrity": "isolated", "budget_s": 30.0,
        "pauses": True, "require_confidence": 0.8, "caps": Caps(usd=0.25, tokens=5000, calls=7),
    }
    assert (found.stdin, found.args) == ("2\n3\n", ("--name", "two words", "-v"))
    assert [(one.name, one.content) for one in found.files] == [("a.py", b"x")]
    assert asked(require_confidence=0.8).require_confidence == 0.8, "as in the library"
    assert asked(usd=0).caps == Caps(usd=0.0, tokens=HOST.budget_tokens, calls=HOST.budget_calls)


@pytest.mark.parametrize(("given", "fact"), [
    ({"usd": "a lot"}, ""), ({"usd": -1}, "0"), ({"calls": "nan"}, ""), ({"tokens": "inf"}, ""),
    ({"seconds": 0.2}, ""), ({"iterations": 11}, "10"), ({"iterations": 0}, "10"),
    ({"autonomy": "none"}, "full_auto"), ({"require_proof": "E9"}, "E0"), ({"args": "'open"}, ""),
    ({"args": "x " * 101}, "100"), ({"args": "a" * 1_000_000}, "4,000"), ({"args": ["-v"]}, ""),
    ({"stdin": {"a": 1}}, ""), ({"learn": 0}, "learn"), ({"learn": "false"}, "learn"),
    ({"ask": "false"}, "ask"), ({"ask": 1}, "ask"), ({"files": ["a.py"]}, ""),
    ({"files": {"a.py": "%%"}}, "base64"), ({"files": {"a.zip": "A" * 3_000_001}}, ""),
    ({"iterations": ["x"]}, ""), ({"autonomy": {"x": 1}}, "full_auto"), ({"tokens": "3.5"}, ""),
    ({"calls": 0.5}, ""), ({"colour": "red"}, "colour.* require_proof, "),
])
def test_what_cannot_be_used_is_refused(given: dict[str, Any], fact: str) -> None:
    with pytest.raises(BadInput, match=fact or None):
        asked(**given)


async def test_a_host_may_allow_more_iterations() -> None:
    often = Settings.from_env({}, provider="mock", max_iterations=20)
    assert chosen({"iterations": 20}, often, public=True).max_iterations == 20
    with pytest.raises(BadInput, match="20"):
        chosen({"iterations": 21}, often, public=True)
    ui = build(hosting(RecordedSession()), max_iterations=20)
    slider = next(part for part in ui.blocks.values() if part.elem_id == "iterations")
    assert isinstance(slider, gr.Slider)
    assert (slider.value, slider.maximum) == (20, 20)


@pytest.mark.parametrize("given", [
    {"usd": 0.51}, {"tokens": 200_001}, {"calls": 41}, {"seconds": 361},
])
def test_a_stranger_never_spends_more_than_the_host_allows(given: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        asked(public=True, **given)
    asked(public=True, **{name: value // 2 or 0.25 for name, value in given.items()})
    asked(public=False, **given)


async def test_what_is_asked_for_is_what_the_run_is_given(tmp_path: Path) -> None:
    found = asked(
        iterations=2, autonomy="review_all", ask=True, usd=0.1, calls=3, seconds=33, learn=False,
        require_proof="E4", require_integrity="isolated",
    )
    async with open_session(settings(tmp_path)) as session:
        given = found.run_arguments(pauses=True, asks=True)
        run = await session.start(from_page(CODE, TESTS).task, **given)
        options = Options.from_json(session._store.run(run).options)
        await session.cancel(run)
    assert (options.max_iterations, options.autonomy_level, options.ask) == (2, "review_all", True)
    assert (options.caps.usd, options.caps.calls, options.budget_s) == (0.1, 3, 33)
    assert (options.learn, options.require_proof) == (False, "E4")
    assert options.require_integrity == "isolated"


async def test_a_run_that_does_not_learn_leaves_nothing_in_the_memory(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        await finished(session, from_page(CODE, TESTS).task, learn=False)
        assert (session.memory().fixes(), session.memory().lessons()) == ((), ())
        await finished(session, from_page(CODE, TESTS).task)
        assert len(session.memory().fixes()) == 1


async def test_less_than_was_required_is_said_beside_the_verdict(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        log = await finished(session, from_page(CODE, TESTS).task, require_proof="E4")
        plain = await finished(session, from_page(CODE, TESTS).task)
    told = required(fold(log))
    assert told.unmet == "E4" and "E4" in told.reason and "E1" in told.reason
    assert 'class="bench is-below' in workbench(told) and "E4" in status_line(told).plain
    assert required(fold(plain)) == fold(plain)


@pytest.mark.nightly
async def test_input_and_arguments_reach_the_program(tmp_path: Path) -> None:
    code = "import sys\nprint(sum(map(int, sys.stdin)) * int(sys.argv[1]))\n"
    task = from_page(code, "assert output == '10\\n'", stdin="2\n3\n", argv=("2",)).task
    async with open_session(settings(tmp_path)) as session:
        assert fold(await finished(session, task)).outcome == "healthy"
        without = from_page(code, "assert output == '10\\n'", stdin="2\n", argv=("2",)).task
        assert fold(await finished(session, without)).outcome != "healthy"
