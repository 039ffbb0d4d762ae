"""What evidence makes of a proof of level E2, in words and as a level."""

from __future__ import annotations

import pytest

from agent.core.domain import Evidence, Proof, ProofLevel
from agent.loop.steps.prove import with_evidence

E2 = Proof(level="E2", why="4 of 4 tests pass")
ALL = Evidence(probes=128, mutants=10, killed=8, survivors=("a mutant", "another"), reruns=5)


def seen(**changes: object) -> Evidence:
    return ALL.model_copy(update=changes)


@pytest.mark.parametrize(("evidence", "level", "facts"), [
    (ALL, "E4", ("8 of 10", "5")),
    (seen(whole_function=True), "E4", ("function",)),
    (seen(killed=7), "E3", ("a mutant",)),
    (seen(mutants=0, killed=0), "E3", ()),
    (seen(disagreeing=("f(1)",)), "E3", ("f(1)",)),
    (seen(reruns=4), "E3", ()),
    (seen(cut="not all mutants were judged"), "E3", ("not all mutants", "2 s")),
    (seen(inconclusive="not all were tried"), "E2", ("not all were tried", "2 s")),
    (seen(probes=99), "E2", ("99", "100")),
    (seen(new_failures=("f(0)",)), "E2", ("`f(0)`",)),
    (seen(competing_patches=1), "E1", ()),
    (seen(competing_patches=2), "E1", ()),
    (seen(uncovered=("a > b",)), "E1", ("`a > b`",)),
    (seen(newly_accepted=("`f(2)` gives 3: as long",)), "E2", ("`f(2)` gives 3: as long",)),
    (seen(inconsistent=("f(2)",)), "E2", ("`f(2)`",)),
])
def test_the_level_and_its_words(
    evidence: Evidence, level: ProofLevel, facts: tuple[str, ...]
) -> None:
    proof = with_evidence(E2, evidence, 2.0)
    assert (proof.level, proof.evidence) == (level, evidence)
    assert proof.why.startswith(E2.why) and len(proof.why) > len(E2.why)
    assert all(fact in proof.why for fact in facts)
