"""Every rule that a jail can name has words for people, in the outcome of a job too."""

from __future__ import annotations

from sandbox import DENIAL_MEANINGS, Job, Outcome
from sandbox.contract.programs import HOSTILE
from sandbox.jail import JailSandbox


def test_every_rule_has_a_program_and_words() -> None:
    met = {rule for program in HOSTILE for rule in program.seen.get("denied", ())}

    assert met == {*DENIAL_MEANINGS}

    outcome = Outcome(ended="completed", denied=("network", "signals"))

    assert outcome.refusals == (
        "the jail allows no network", "the jail allows no signals to other processes",
    )


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
