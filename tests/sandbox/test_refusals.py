"""Every rule that a jail can name has words for people, in the outcome of a job too."""

from __future__ import annotations

import pytest

from sandbox import REFUSALS, Job, Outcome
from sandbox.jail import JailSandbox

RAN_AGAINST = [
    ("open('/etc/passwd')", "files"),
    ("import socket; socket.socket()", "network"),
    ("import os; os.fork()", "processes"),
    ("import os; os.kill(1, 0)", "signals"),
]


def test_a_program_is_here_for_every_rule() -> None:
    assert [rule for _, rule in RAN_AGAINST] == [*REFUSALS]


def test_an_outcome_says_its_refusals_in_words() -> None:
    outcome = Outcome(ended="completed", denied=("network", "signals"))

    assert outcome.refusals == ("the jail allows no network", "the jail lets no signal out")


@pytest.mark.parametrize(("program", "rule"), RAN_AGAINST)
async def test_the_jail_names_the_rule_that_a_program_ran_against(
    strongest: JailSandbox, program: str, rule: str
) -> None:
    outcome = await strongest.run(Job(f"try:\n    {program}\nexcept OSError:\n    pass"))

    assert (outcome.ended, outcome.denied) == ("completed", (rule,))


async def test_threads_that_meet_a_rule_at_once_are_told_of_once(strongest: JailSandbox) -> None:
    crowd = """\
import socket, sys, threading
sys.setswitchinterval(1e-6)
gate = threading.Barrier(24)
def meet():
    gate.wait()
    try: socket.socket()
    except OSError: pass
threads = [threading.Thread(target=meet) for _ in range(24)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    outcomes = [await strongest.run(Job(crowd)) for _ in range(60)]

    assert {(one.ended, one.denied) for one in outcomes} == {("completed", ("network",))}
