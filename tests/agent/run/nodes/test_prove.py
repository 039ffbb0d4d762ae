"""What evidence makes of a proof of level E2, in words and as a level."""

from __future__ import annotations

import pytest

from agent.core.domain import Evidence, Proof, ProofLevel
from agent.run.nodes.prove import lifted

E2 = Proof(level="E2", why="4 of 4 tests pass")
ALL = Evidence(probes=128, mutants=10, killed=8, survivors=("a slip", "another"), reruns=5)


def seen(**changes: object) -> Evidence:
    return ALL.model_copy(update=changes)


@pytest.mark.parametrize(
    ("evidence", "level", "words"),
    [
        (ALL, "E4", "the tests notice 8 of 10 slips put into the repaired lines; 5 re-runs agree"),
        (seen(around=True), "E4", "slips put into the repaired function"),
        (seen(killed=7), "E3", "nothing would notice: a slip"),
        (seen(mutants=0, killed=0), "E3", "no slip put into the repaired lines tells anything"),
        (seen(disagreeing=("f(1)",)), "E3", "flaky: f(1) went otherwise in a re-run"),
        (seen(reruns=4), "E3", "the tests were not run again"),
        (seen(cut="the slips put in were not all judged"), "E3", "not all judged within 2 s"),
        (seen(unsettled="not all were tried"), "E2", "not all were tried within 2 s"),
        (seen(probes=99), "E2", "only 99 changed inputs could be tried, of 100 it takes"),
        (seen(new_failures=("f(0)",)), "E2", "`f(0)` gave a value before and fails now"),
        (seen(others=1), "E1", "not the only repair that fits your tests: another behaves"),
        (seen(others=2), "E1", "not the only repair that fits your tests: others behave"),
        (seen(unwatched=("a > b",)), "E1", "no test takes both sides of `a > b` and notices"),
        (seen(doubts=("`f(2)` gives 3: as long",)), "E2", "doubtful: `f(2)` gives 3: as long"),
        (seen(wavering=("f(2)",)), "E2", "`f(2)` is answered otherwise among other calls"),
    ],
)
def test_the_level_and_its_words(evidence: Evidence, level: ProofLevel, words: str) -> None:
    proof = lifted(E2, evidence, 2.0)
    assert (proof.level, proof.evidence) == (level, evidence)
    assert proof.why.startswith(E2.why)
    assert words in proof.why
