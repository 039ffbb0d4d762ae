"""Confirms passes under other seeds and in another environment, to refuse flaky or faked ones.

A jail always has the same hash seed and `random` state, so a program that depends on them passes
there every time, but only sometimes under plain pytest. A program might also recognise the jail. So
a program that passes all its tests runs again with another hash seed in an environment that looks
different (`environment`): user, limits, folders, time of day, processes, sockets. If it uses sets,
hashes or randomness, it also runs under more seeds in the usual environment. Seeds are drawn per
host, so that programs cannot know them. Confirmation can only revoke passes.
"""

from __future__ import annotations

import ast
import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from agent.core.domain import TRUSTED_ORIGINS, Report, Script, Solution, TestCase, Verdict
from agent.core.trees import nodes_or_empty
from agent.verify.plain.canary import RunVariation
from agent.verify.subject import Seeds
from agent.verify.tamper_indicators import message_of

_RANDOM = random.SystemRandom()
HASH_SEEDS = tuple(_RANDOM.sample(range(1, 1 << 32), 4))
"""Additional hash seeds: one for the other environment, the rest for further runs. Each needs its
own fork server."""
RANDOM_SEEDS = 1 << 31

PlainRunner = Callable[[Sequence[TestCase], Seeds, RunVariation], Awaitable[Report]]
"""Makes a plain run of tests with these seeds and environment."""


async def confirm(
    report: Report, tests: Sequence[TestCase], solution: Solution, run_again: PlainRunner,
    confirmed: set[tuple[str, str]],
) -> Report:
    """The report without the passes that do not hold in every other run.

    Only passes of vetoing tests in reports without failures are confirmed. A time-out in another
    run revokes nothing, since a busy machine can cause it.
    """
    passing = {verdict.test for verdict in report.verdicts if verdict.passed}
    unconfirmed = [
        test for test in tests
        if test.name in passing and test.origin in TRUSTED_ORIGINS
        and (solution.id, test.name) not in confirmed
    ]
    if not unconfirmed or not report.passed:
        return report
    # All tests of a file run again, in order, since they may depend on each other.
    files = {test.code for test in unconfirmed if isinstance(test, Script) and test.node}
    repeated = [test for test in tests if test in unconfirmed or test.code in files]
    runs: list[tuple[int, RunVariation]] = [(HASH_SEEDS[0], "user machine")]
    texts = dict.fromkeys((*(file.text for file in solution.files), *(test.code for test in tests)))
    if any(uses_hashes(text) or "random" in text for text in texts):
        runs += [(seed, "") for seed in HASH_SEEDS[1:]]
    reports = await asyncio.gather(*(
        run_again(repeated, Seeds(seed, _RANDOM.randrange(RANDOM_SEEDS)), environment)
        for seed, environment in runs
    ))
    user_machine, *plain = map(_failing, reports)
    revoked = {name: _flaky(one) for found in plain for name, one in found.items()}
    if user_machine.keys() - revoked.keys():
        # A test that fails there again, with the usual seed, fails because of the environment.
        again = _failing(await run_again(repeated, Seeds(0), "user machine"))
        revoked = {
            name: _tampered(one) if name in again else _flaky(one)
            for name, one in user_machine.items()
        } | revoked
    confirmed.update((solution.id, test.name) for test in unconfirmed)
    return report.model_copy(update={"verdicts": tuple(
        one.model_copy(update=revoked[one.name]) if one.passed and one.name in revoked else one
        for one in report.verdicts
    )})


_HASHED = frozenset({"set", "frozenset", "hash", "id"})
_OF_SETS = frozenset({"union", "intersection", "difference", "symmetric_difference", "__hash__"})


def uses_hashes(text: str) -> bool:
    """Whether a program's text visibly uses sets or hashes."""
    return any(
        isinstance(node, ast.Set | ast.SetComp)
        or (isinstance(node, ast.Name) and node.id in _HASHED)
        or (isinstance(node, ast.Attribute) and node.attr in _OF_SETS)
        or (isinstance(node, ast.BinOp) and _is_view(node.left))
        for node in nodes_or_empty(text)
    )


def _is_view(node: ast.expr) -> bool:
    """Whether a node is `x.keys()` or `x.items()`, whose operators return sets."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("keys", "items")


def _failing(report: Report) -> dict[str, Verdict]:
    return {one.name: one for one in report.verdicts if one.status not in ("passed", "timeout")}


def _flaky(verdict: Verdict) -> dict[str, object]:
    return {
        "status": "failed", "integrity": None, "reason": "", "vacuous": False,
        "message": f"flaky: it passes in some runs only; {verdict.message or verdict.status}",
    }


def _tampered(verdict: Verdict) -> dict[str, object]:
    doubt = message_of("environment", verdict.message)
    return {
        "integrity": None, "reason": "", "vacuous": False, "disbelieved": doubt,
        "message": f"not believed: {doubt}",
    }
