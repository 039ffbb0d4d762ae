"""The simulated programmer errs as often as it is told to, and its figures are counted rightly."""

from __future__ import annotations

import ast
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from agent.thinking import rewriting
from demo.panels.measured import Share
from evaluation.simulated.__main__ import SEEN, main
from evaluation.simulated.mutations import mutants
from evaluation.simulated.programmer import Programmer, Rates
from evaluation.simulated.table import CellFigures, figures, table
from evaluation.simulated.tasks import BenchTask, task_of
from evaluation.simulated.trials import PARTS, Cell, LoopRun, ran, without
from evaluation.suite import Truth, read_suite
from sandbox import open_sandbox

RIGHT = (
    "def total(prices, most):\n    found = 0\n    for price in prices:\n        if price < most:\n"
    "            found += price\n    return found\n"
)
RATES = Rates("tried", (0.5, 0.3), (0.2, 0.5))


def known() -> BenchTask:
    calls = tuple(f"total([{number}], 9)" for number in range(8))
    gives = {call: str(number) for number, call in enumerate(calls)}
    return BenchTask(
        "tried", "Write total(prices, most). The sum of those below.", RIGHT, ("near\n",),
        ("wrong\n",), (), Truth(), calls, (),
        {RIGHT: gives, "near\n": {**gives, calls[1]: "5"}, "wrong\n": dict.fromkeys(calls, "7")},
        open_sandbox(),
    )


def test_mutants_are_other_programs_and_the_same_for_a_seed() -> None:
    found = mutants(RIGHT, 1, 12, "seed")
    assert len(found) == len(set(found)) == 12
    assert all(ast.dump(ast.parse(one)) != ast.dump(ast.parse(RIGHT)) for one in found)
    assert mutants(RIGHT, 1, 12, "seed") == found != mutants(RIGHT, 1, 12, "other")


def test_programs_are_right_nearly_right_and_wrong_by_their_shares() -> None:
    one = Programmer(known(), RATES, "0")
    drawn = Counter(one.program((0.5, 0.3), random.Random(number)) for number in range(2_000))
    shares = [drawn[text] / 2_000 for text in (RIGHT, "near\n", "wrong\n")]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.04)


def test_a_derived_test_that_is_wrong_has_another_value() -> None:
    task, misled = known(), Rates("misled", (1, 0), (1, 0), one_wrong=True)
    for number in range(50):
        pairs = Programmer(task, misled, str(number)).tests()
        assert [value == task.gives(call) for call, value in pairs] == [False] + [True] * 4


def test_a_shared_misreading_is_the_same_wherever_it_shows() -> None:
    one = Programmer(known(), Rates("misreading", (0, 1), (0, 1), misreads=1.0), "0")
    assert {one.program((0.0, 1.0), random.Random(n)) for n in range(9)} == {"wrong\n"}
    assert one._wrong("total([1], 9)", random.Random(0), read=True) == "7"


def test_a_part_is_gone_for_a_while() -> None:
    whole = rewriting.around
    with without("search around"):
        assert rewriting.around is not whole
    assert rewriting.around is whole
    with without("critic") as settings:
        assert settings == {"enable_critic": False}
    assert set(PARTS) == {
        "arbitration", "critic", "spec tests", "search around", "tournament", "ladder",
    }


@pytest.mark.parametrize(("part", "whole", "low", "high"), [
    (0, 300, 0.0, 0.0126), (15, 300, 0.0306, 0.0808), (300, 300, 0.9874, 1.0),
])
def test_intervals_are_wilsons(part: int, whole: int, low: float, high: float) -> None:
    assert Share(part, whole).interval == pytest.approx((low, high), abs=1e-4)


def test_figures_count_what_is_claimed_what_is_true_and_what_retrying_takes() -> None:
    def one(healed: bool, proof: str, right: bool, began: bool, retried: int) -> LoopRun:
        return LoopRun(healed, proof, right, began, 6, 100, 1, retried, bool(retried))

    found = figures([
        one(True, "E0", True, True, 1), one(True, "E2", False, False, 9),
        one(False, "", False, True, 12), one(True, "E3", True, False, 3),
    ])
    assert found == CellFigures(
        4, Share(2, 4), Share(1, 2), Share(1, 3), Share(1, 2), 6.0, 100.0, Share(2, 4),
        pytest.approx(1 - 6 / ((2 + 4 + 4 + 4) / 4)),
    )
    assert [line.split()[0] for line in table({"whole": found})] == ["cell", "whole"]


async def test_a_run_is_the_same_for_the_same_seed_and_its_truth_is_asked_of_the_judge() -> None:
    row = next(row for row in read_suite(SEEN) if row.id == "seen/27-warm-spells")
    task = await task_of(row, open_sandbox())
    assert task is not None
    assert not any([await task.holds(text) for text in (*task.near, *task.wrong)])
    cell = Cell(Rates("tried", (0.0, 1.0), (1.0, 0.0)), "tests")
    found = await ran(cell, task, "0")
    assert (found.healed, found.began_right, found.proof) == (True, False, "E1")
    assert found == await ran(cell, task, "0")


def test_a_cell_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cells", "nobody"]) == 2
    assert "there are strong, words;" in capsys.readouterr().err


def test_the_command_prints_a_row_a_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, cell = tmp_path / "figures.json", "misled, words, no arbitration"
    assert main(["--runs", "1", "--tasks", "1", "--cells", cell, "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == ["cell", cell]
    assert list(json.loads(out.read_text("utf-8"))) == [cell]
