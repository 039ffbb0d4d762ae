"""The jail's figures: what is promised is compared with what was measured, in one run."""

from __future__ import annotations

import json
import os
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the jail needs Linux", allow_module_level=True)

from sandbox import __main__ as command
from sandbox import bench
from sandbox.bench import Figure
from sandbox.levels import JailLevel

pytestmark = pytest.mark.usefixtures("strongest")


@pytest.mark.parametrize(
    ("figure", "reached", "said"),
    [
        (Figure("a", 0.4, "ms", 0.5), True, "at most 0.5: reached"),
        (Figure("a", 0.6, "ms", 0.5), False, "at most 0.5: NOT REACHED"),
        (Figure("a", 800.0, "/s", 700, at_least=True), True, "at least 700: reached"),
        (Figure("a", 600.0, "/s", 700, at_least=True), False, "at least 700: NOT REACHED"),
        (Figure("a", 600.0, "/s"), None, "600 /s"),
        (Figure("a", None, "MiB", 1, note="no memory"), None, "not measured"),
    ],
)
def test_a_promise_is_kept_or_open(figure: Figure, reached: bool | None, said: str) -> None:
    assert figure.reached is reached
    assert said in figure.line()


async def test_the_jail_is_compared_with_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "ROUNDS", 1)

    found = {one.name: one for one in await bench._runs_beside_an_interpreter()}

    assert all(one.value is not None and one.value > 0 for one in found.values())
    assert found["warm run, speedup over starting Python"].promise == 12


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at a jailed process")
async def test_the_memory_of_a_waiting_child_is_measured() -> None:
    found = await bench._memory()

    assert found.value is not None and 0 < found.value < 100


async def test_rates_are_measured_on_cores_that_are_given_back() -> None:
    cores = os.sched_getaffinity(0)

    rates = await bench._in_flight(2, 4, [min(cores)])
    rates += await bench._in_a_batch(64)

    assert min(rates) > 0
    assert os.sched_getaffinity(0) == cores


async def test_a_kill_is_measured_from_the_deadline() -> None:
    figures = await bench._kills()

    assert all(one.value is not None and one.value > 0 for one in figures)


def test_the_document_says_what_was_reached(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def figures(level: JailLevel) -> list[Figure]:
        return [Figure("a", 2.0, "ms", 1.0), Figure("b", 2.0, "ms")]

    monkeypatch.setattr(bench, "figures", figures)

    assert command.main(["bench", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["level"] in ("L2", "L3", "L4")
    assert [(one["name"], one["reached"]) for one in document["figures"]] == [
        ("a", False), ("b", None),
    ]


def test_another_backend_has_no_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--backend", "subprocess", "bench"]) == 3
    assert "only the jail can be measured" in capsys.readouterr().err
