"""Runs what passes again under other chance and in other surroundings: a pass by luck is none.

A jail has one hash seed, one order of each set and one state of `random`, so a program that
depends on these passes there each time, and under plain pytest now and then. It also has marks by
which a program can know it, whatever is done against that. So a program that passes all its tests
runs once more in an interpreter with another hash seed, whose surroundings look otherwise
(`surroundings`): another user, other limits and folders, another time of day, processes, sockets.
Where sets, hashes or chance have a part in it, it runs under more seeds in the usual surroundings.
The seeds are drawn for each host, so that no program knows them. Nothing is added to a pass by
this: it can only be taken back.
"""

from __future__ import annotations

import ast
import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from agent.core.domain import VETOING_ORIGINS, Report, Script, Solution, TestCase, Verdict
from agent.core.trees import readable_nodes
from agent.verify.plain.canary import CanaryKind
from agent.verify.subject import Seeds
from agent.verify.tamper_indicators import words

_CHANCE = random.SystemRandom()
OTHER_HASHES = tuple(_CHANCE.sample(range(1, 1 << 32), 4))
"""Hash seeds beside the usual one: of other surroundings, and of further runs. Each takes a fork
server of its own."""
RANDOM_SEEDS = 1 << 31

Again = Callable[[Sequence[TestCase], Seeds, CanaryKind], Awaitable[Report]]
"""Runs tests with these seeds and surroundings, by the plain run alone."""


async def confirm(
    report: Report, tests: Sequence[TestCase], solution: Solution, again: Again,
    confirmed: set[tuple[str, str]],
) -> Report:
    """The report with those passes taken back that do not hold in every other run: a program that
    fails somewhere is left as it is, and so is a pass of a test that decides nothing.

    A test that comes to no end in another run is not taken back, since a busy machine does that.
    """
    passing = {one.test for one in report.verdicts if one.passed}
    fresh = [
        test for test in tests
        if test.name in passing and test.origin in VETOING_ORIGINS
        and (solution.id, test.name) not in confirmed
    ]
    if not fresh or not report.passed:
        return report
    # Of a file all run again, in their order: one may need what another leaves.
    whole = {test.code for test in fresh if isinstance(test, Script) and test.node}
    asked = [test for test in tests if test in fresh or test.code in whole]
    runs: list[tuple[int, CanaryKind]] = [(OTHER_HASHES[0], "elsewhere")]
    texts = dict.fromkeys((*(file.text for file in solution.files), *(one.code for one in tests)))
    if any(uses_hashes(text) or "random" in text for text in texts):
        runs += [(seed, "") for seed in OTHER_HASHES[1:]]
    reports = await asyncio.gather(*(
        again(asked, Seeds(seed, _CHANCE.randrange(RANDOM_SEEDS)), surroundings)
        for seed, surroundings in runs
    ))
    apart, *plain = map(_failing, reports)
    lost = {name: _flaky(one) for found in plain for name, one in found.items()}
    if apart.keys() - lost.keys():
        # Only what fails there twice, and not by chance, fails because of the surroundings.
        repeated = _failing(await again(asked, Seeds(0), "elsewhere"))
        lost = {
            name: _known(one) if name in repeated else _flaky(one) for name, one in apart.items()
        } | lost
    confirmed.update((solution.id, test.name) for test in fresh)
    return report.model_copy(update={"verdicts": tuple(
        one.model_copy(update=lost[one.name]) if one.passed and one.name in lost else one
        for one in report.verdicts
    )})


_HASHED = frozenset({"set", "frozenset", "hash", "id"})
_OF_SETS = frozenset({"union", "intersection", "difference", "symmetric_difference", "__hash__"})


def uses_hashes(text: str) -> bool:
    """Whether a text has sets or hashes in it, as far as its words show."""
    return any(
        isinstance(node, ast.Set | ast.SetComp)
        or (isinstance(node, ast.Name) and node.id in _HASHED)
        or (isinstance(node, ast.Attribute) and node.attr in _OF_SETS)
        or (isinstance(node, ast.BinOp) and _is_view(node.left))
        for node in readable_nodes(text)
    )


def _is_view(node: ast.expr) -> bool:
    """Whether a node is `x.keys()` or `x.items()`, of which an operator makes a set."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("keys", "items")


def _failing(report: Report) -> dict[str, Verdict]:
    return {
        one.name: one for one in report.verdicts
        if one.status not in ("passed", "timeout")
    }


def _flaky(verdict: Verdict) -> dict[str, object]:
    return {
        "status": "failed", "integrity": None, "reason": "", "vacuous": False,
        "message": f"flaky: it passes in some runs only; {verdict.message or verdict.status}",
    }


def _known(verdict: Verdict) -> dict[str, object]:
    doubt = words("surroundings", verdict.message)
    return {
        "integrity": None, "reason": "", "vacuous": False, "doubt": doubt,
        "message": f"not believed: {doubt}",
    }
