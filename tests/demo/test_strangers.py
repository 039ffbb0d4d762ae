"""What one visitor of a public page has, another neither sees nor touches: canaries of the one are
looked for in everything that the other can see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from demo.browser_state import NO_RUN
from demo.serving.endpoints import ENDPOINTS
from tests.demo.apart import WEAK, shipped
from tests.demo.served import RIGHT, WRONG, Program, Refused, Stranger

pytestmark = pytest.mark.slow

CANARY, KEY = "ACME_SECRET_TOKEN_42", "sk-ant-CANARY-0123456789abcdef"
CODE = f"def area({CANARY}, height):\n    return {CANARY} + height\n"
SAME = CODE.replace(CANARY, "width")
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1\nassert area(3, 3) == 9"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page for strangers, on which repairs wait for a review."""
    folder = tmp_path_factory.mktemp("public")
    with shipped(
        folder, GRADIO_SERVER_NAME=WEAK["GRADIO_SERVER_NAME"], SANDBOX_ALLOW_WEAK="1",
        HEAL_AUTONOMY="review_repairs", HEAL_VISITOR_RATE="1000", HEAL_REQUEST_RATE="100000",
    ) as address:
        yield address


def named(who: Stranger, act: str) -> dict[str, Any]:
    """The act of a page behind the button of that name."""
    part = next(one["id"] for one in who.page["components"] if one["props"].get("elem_id") == act)
    found: dict[str, Any] = next(
        one for one in who.page["dependencies"] if [part, "click"] in one["targets"]
    )
    return found


@pytest.mark.nightly
def test_nothing_of_a_visitor_reaches_another(home: str) -> None:
    with Stranger(home) as owner, Stranger(home) as other, Stranger(home) as third:
        assert owner.client.cookies["heal_visitor"] != other.client.cookies["heal_visitor"]
        visit = {"visitor": "", "provider": "", "model": "", "roles": ""}
        kept = owner.acted(named(owner, "use-key"), [
            visit, "", "", "", "anthropic", KEY, "", "", "",
        ])
        assert "anthropic" in kept and owner.client.cookies["heal_visitor"] not in kept
        free = {**visit, "provider": "mock"}
        unasked = {"visit": free, "provider": "mock"}
        first = owner.last("heal_code", code=CODE, tests=TESTS, provider="mock")
        searched = kinds(owner, first)
        own_kept = {**NO_RUN, "run": first["run_id"], "interrupt": interrupt(owner, first)}
        owner.acted(named(owner, "approve"), [own_kept, visit])
        while (done := owner.last("get_run", run=first["run_id"]))["outcome"] != "healed":
            pass
        assert done["strategy"] == "search"
        own = owner.last("heal_code", code=CODE, tests=TESTS, provider="mock")
        run = own["run_id"]
        assert own["outcome"] == "awaiting_review"
        assert kinds(owner, own) != searched, "who comes back is remembered"
        before = owner.client.get(f"gradio_api/heal/{run}/log").text

        received = dict(other.pages())
        received |= {f"{name} of none": text for name, text in other.everything(unasked)}
        for verb, values in (
            ("runs", {}), ("get_run", {"run": run}), ("cancel_run", {"run": run}),
            ("iterations", {"run": run}), ("compare", {"left": run, "right": run}),
            ("fork", {"run": run, "iteration": 0}), ("get_run", {"run": run[:8]}),
            ("runs", {"visitor": "guessed" * 3}), ("check_code", {"code": SAME, "tests": TESTS}),
        ):
            try:
                received[f"{verb} {values}"] = json.dumps(other.last(verb, **values))
            except Refused as refusal:
                received[f"{verb} {values}"] = f"refused: {refusal}"
        theirs = other.last("heal_code", code=SAME, tests=TESTS, provider="mock")
        received["their own heal"] = json.dumps(theirs)
        received["their own log"] = other.client.get(f"gradio_api/heal/{theirs['run_id']}/log").text
        received["their own runs"] = json.dumps(other.last("runs"))

        leaks = [
            name for name, text in received.items()
            if CANARY in text or KEY in text or owner.client.cookies["heal_visitor"] in text
            or (run in text and run not in name)
        ]
        assert leaks == []
        # That it was healed before tells nobody but its owner, by no word and by no work spared.
        fresh = third.last("heal_code", code=SAME, tests=TESTS, provider="mock")
        assert [kinds(other, theirs), kinds(third, fresh)] == [searched, searched]
        assert theirs["candidates"] == fresh["candidates"] == first["candidates"] > 0

        # With the link the run is read, and whatever else is tried leaves it as it was.
        linked = {
            "saved-run": {**NO_RUN, "run": run, "interrupt": interrupt(owner, own), "answer": "A"},
            "edited": "pass", "hint": "otherwise", **unasked,
        }
        shown = dict(other.everything(linked))
        assert any(CANARY in text for text in shown.values())
        assert KEY not in "".join(shown.values())
        assert owner.client.get(f"gradio_api/heal/{run}/log").text == before
        assert {one["run_id"] for one in owner.last("runs")} == {run, first["run_id"]}


def kinds(who: Stranger, run: dict[str, Any]) -> list[str]:
    """What happened in a run; in which order, and how often progress was logged depends on time."""
    log = who.client.get(f"gradio_api/heal/{run['run_id']}/log").text
    return sorted({json.loads(line)["event"]["kind"] for line in log.splitlines()})


def interrupt(who: Stranger, run: dict[str, Any]) -> str:
    """The question that a run waits with."""
    log = who.client.get(f"gradio_api/heal/{run['run_id']}/log").text
    asked: str = json.loads(log.splitlines()[-1])["event"]["interrupt"]
    return asked


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wrong", [7, ["x"], {"x": 1}, "no such choice", 1e300])
@pytest.mark.nightly
def test_a_value_that_no_field_has_is_refused_in_words(home: str, wrong: Any) -> None:
    with Stranger(home) as who:
        parts = {one["props"].get("elem_id") for one in who.page["components"]} - {None, ""}
        kept = {**NO_RUN, "run": str(uuid4())}
        received = dict(who.everything({**dict.fromkeys(parts, wrong), "saved-run": kept}))
        received |= {f"{name} of nobody": text for name, text in who.everything(
            dict.fromkeys((*parts, "saved-run", "visit"), wrong)
        )}
    assert {
        name: text[-300:] for name, text in received.items()
        if re.search(r'"success": ?false|^\{"(detail|error)', text)
        and name.split()[1] not in {verb.__name__ for verb in ENDPOINTS}
    } == {}


def test_a_call_with_too_few_values_names_those_that_are_missing(home: str) -> None:
    with Stranger(home) as who:
        fork = next(one for one in who.page["dependencies"] if one["api_name"] == "fork")
        assert "iteration, code, tests" in who.acted(fork, [CANARY])
        for verb, given, why in (
            ("check_code", {"code": CANARY}, "tests"), ("check_code", {"kode": CANARY}, "kode"),
            ("none", {}, ""),
        ):
            answer = who.client.post(f"gradio_api/call/v2/{verb}", json=given)
            assert (answer.status_code, why in answer.text) == (400, True)


def test_a_cookie_counts_only_where_its_own_page_asks(home: str) -> None:
    with Stranger(home) as owner:
        run = owner.last("heal_code", code=WRONG, tests=RIGHT, provider="mock")["run_id"]
        jar = {"cookie": f"heal_visitor={owner.client.cookies['heal_visitor']}"}
        for elsewhere in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            with Program(home, **jar, **elsewhere) as forged, pytest.raises(Refused):
                forged.last("cancel_run", run=run)
        with Program(home, **jar) as same:
            assert same.last("cancel_run", run=run)["outcome"] == "cancelled"
