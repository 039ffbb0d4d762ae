"""Nothing gets out: every attack, at every level, as root, as anyone, in Docker's profile.

`make test` runs every attack at the strongest level only, and samples of them, each from another
place of the table, at the levels below and as others; `make test-all` runs all of them everywhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from sandbox import Sandbox, SandboxUnavailable, open_sandbox
from sandbox.attacks import ATTACKS, Attack, AttackResult, Gauntlet, Targets, gauntlet, run_attacks
from sandbox.attacks.assail import read
from sandbox.attacks.attack import ATTACK_SUCCEEDED, Rule
from sandbox.contract import HONEST_CHECKS
from sandbox.jail import JailSandbox
from sandbox.levels import JailLevel

ROOT = Path(__file__).parents[2]
AS_ROOT = os.geteuid() == 0
NOBODY = 65_534

ATTACKS_OF_ROOT = 45
"""So many must get through the naive harness where it runs as root."""

NOT_TRIED = {
    "read the machine's memory": "many kernels have no such device",
    "open /proc/sysrq-trigger": "many kernels are built without them",
}
"""Skipped on some machines even for root; for others the kernel refuses more by itself."""

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="a gauntlet for Linux")

PROMISED_AT_L1 = {attack.name for attack in ATTACKS if "L1" in attack.refusals}
TRIED_AT_L1 = [attack for attack in ATTACKS if attack.name in PROMISED_AT_L1] + [
    attack for attack in ATTACKS if attack.name not in PROMISED_AT_L1
][::4]
SAMPLED = 8
"""Of so many attacks one is run where a sample is taken, and of twice as many as others."""


def named(results: tuple[AttackResult, ...], result: str) -> dict[str, tuple[str, str]]:
    return {one.name: (one.errno, one.why) for one in results if one.result == result}


# The table.


def test_there_are_many_attacks_on_every_rule() -> None:
    rules = Counter(attack.rule for attack in ATTACKS)

    assert len(ATTACKS) >= 200
    assert set(rules) == set(get_args(Rule))
    assert min(rules.values()) >= 5
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


def test_a_promised_refusal_is_no_answer_that_a_kernel_gives_without_a_jail() -> None:
    promised = {
        attack.name: {one for met in attack.refusals.values() for one in met.split(" or ")}
        for attack in ATTACKS
    }

    assert [
        one.name for one in ATTACKS if promised[one.name] & {*one.control, ATTACK_SUCCEEDED, ""}
    ] == []
    assert [one.name for one in ATTACKS if not {"L2", "L3", "L4"} <= {*one.refusals}] == []
    machine = platform.machine()
    assert [one.name for one in ATTACKS if one.why_unsupported() and machine in one.machines] == []
    for attack in ATTACKS:
        for text in attack.texts():
            compile(text, attack.name, "exec")


def test_there_are_many_honest_programs_each_with_something_to_print() -> None:
    assert len(HONEST_CHECKS) >= 42
    assert len({check.claim for check in HONEST_CHECKS}) == len(HONEST_CHECKS)


# Who says what an attack met.


@pytest.mark.parametrize(
    ("printed", "killed_by", "starts", "answer"),
    [
        (b"", "", 0, ""),
        (b'{"started": true}\n{"answer": "EPERM"}\n', "", 1, "EPERM"),
        (b'noise {"answer": "x"}\n{"started": true}\nno json {\n{"answer": "through"}\n', "", 1,
         "through"),
        (b'{"answer": "EPERM"}\n', "", 0, "EPERM"),
        (b'{"started": true}\n{"answer": "through"}\n', "SIGSYS", 1, "SIGSYS"),
        (b'{"started": true}\n{"answer": "EPERM"}\n{"started": true}\n', "", 2, ""),
        (b'{"started": 1}\n{"answer": 5}\n{"started"}\n', "", 0, ""),
    ],
)
def test_a_report_is_the_last_answer_of_an_attack_that_began(
    printed: bytes, killed_by: str, starts: int, answer: str
) -> None:
    report = read(printed, killed_by)

    assert (report.starts, report.answer) == (starts, answer)


@pytest.fixture
async def targets() -> AsyncIterator[Targets]:
    async with Targets() as planted:
        yield planted


def an_attack(attempt: str, **changes: Any) -> Attack:
    refusals = changes.pop("refusals", {"L1": "EPERM"})
    return Attack("an attack", "kernel", attempt, refusals, **changes)


async def result_of(targets: Targets, attack: Attack, control: str) -> AttackResult:
    """The result at L1, where the naive harness is said to have answered `control`."""
    targets.control_runs[attack.name] = control
    (result,) = await run_attacks(open_sandbox("subprocess"), targets, [attack], "L1")
    return result


@pytest.mark.parametrize(
    ("attempt", "control", "result", "met"),
    [
        ("raise PermissionError(1, '')", "through", "blocked", "EPERM"),
        ("pass", "through", "breached", "through"),
        ("raise FileNotFoundError(2, '')", "through", "breached", "ENOENT"),
        ("raise ValueError", "through", "breached", ""),
        ("os._exit(0)", "through", "breached", ""),
        ("os.abort()", "through", "breached", "SIGABRT"),
        ("raise PermissionError(1, '')", "EPERM", "skipped", ""),
        ("raise PermissionError(1, '')", "", "skipped", ""),
    ],
)
async def test_only_the_promised_refusal_of_a_real_attack_is_blocked(
    targets: Targets, attempt: str, control: str, result: str, met: str
) -> None:
    seen = await result_of(targets, an_attack(attempt), control)

    assert (seen.result, seen.errno) == (result, met)


async def test_an_attack_that_never_started_is_not_blocked(targets: Targets) -> None:
    attack = an_attack("no Python")

    seen = await result_of(targets, attack, "through")

    assert (seen.result, seen.why.partition(":")[0]) == ("skipped", "it did not start")


async def test_a_next_job_that_does_not_run_is_a_breach(targets: Targets) -> None:
    attack = an_attack("pass", probe="pass", refusals={"L1": "absent"})

    lasting = await result_of(targets, attack, "through")
    nothing_found = an_attack("pass", probe="require(0)", refusals={"L1": "absent"})
    gone = await result_of(targets, nothing_found, "through")

    assert (lasting.result, gone.result) == ("breached", "blocked")


async def test_planted_targets_leave_nothing_behind(tmp_path: Path) -> None:
    before = os.environ.get("SANDBOX_CANARY_KEY"), set(os.listdir("/proc/self/fd"))
    async with Targets() as planted:
        facts = json.loads(planted.facts())
        assert os.environ["SANDBOX_CANARY_KEY"] == facts["key"][::-1]

    assert not Path(facts["folder"]).exists()
    for victim in ("victim", "second_victim", "third_victim"):
        with pytest.raises(ProcessLookupError):
            os.kill(facts[victim], 0)
    after = os.environ.get("SANDBOX_CANARY_KEY"), set(os.listdir("/proc/self/fd"))
    assert after == before


# The gauntlet, run by whoever runs the tests.


def sandbox_at(level: str) -> Sandbox:
    try:
        return JailSandbox(at_most=level)  # type: ignore[arg-type]
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def seen_here(whole: bool) -> Iterator[dict[str, Gauntlet]]:
    """What became of the attacks at each level, on the same targets: the controls are run once."""

    async def at_all_levels() -> dict[str, Gauntlet]:
        seen = {}
        async with Targets() as planted:
            for place, level in enumerate(("L4", "L3", "L2")):
                some = ATTACKS[place::SAMPLED] if place and not whole else ATTACKS
                seen[level] = await gauntlet(sandbox_at(level), planted, some)
            seen["L1"] = await gauntlet(open_sandbox("subprocess"), planted, TRIED_AT_L1)
        return seen

    yield asyncio.run(at_all_levels())


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("level", get_args(JailLevel))
def test_no_attack_gets_out_of_the_jail(level: str, seen_here: dict[str, Gauntlet]) -> None:
    seen = seen_here[level]
    if seen.isolation.level != level:
        pytest.skip(f"this machine grants {seen.isolation.level}, not {level}")

    skipped = named(seen.results, "skipped")

    assert named(seen.results, "breached") == {}
    if AS_ROOT:
        assert {name: why for name, why in skipped.items() if name not in NOT_TRIED} == {}
    assert seen.count("blocked") >= 150 * len(seen.results) // len(ATTACKS)


@LINUX
def test_what_limits_alone_leave_open_is_seen_to_be_open(seen_here: dict[str, Gauntlet]) -> None:
    seen = seen_here["L1"]
    breached = named(seen.results, "breached")

    assert seen.isolation.level == "L1"
    assert len(breached) >= 10
    assert {name: met for name, met in breached.items() if name in PROMISED_AT_L1} == {}


@pytest.mark.skipif(not AS_ROOT, reason="root's controls are counted")
def test_most_attacks_succeed_on_the_naive_harness(seen_here: dict[str, Gauntlet]) -> None:
    through = [one.name for one in seen_here["L4"].results if one.control == ATTACK_SUCCEEDED]

    assert len(through) >= ATTACKS_OF_ROOT


# The same by others. They need an interpreter and a copy of the sandbox that they may read.


@pytest.fixture(scope="module")
def stage() -> Iterator[Path]:
    """A folder with what others run, readable by all."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-") as folder:
        place = Path(folder)
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "sandbox", place / "sandbox", ignore=left_out)
        for name in ("docker_profile.py", "gauntlet_here.py"):
            shutil.copy(ROOT / "tests/sandbox" / name, place / name)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        (place / "t").mkdir()
        (place / "t").chmod(0o1777)
        yield place


@pytest.fixture(scope="module")
def python() -> str:
    """An interpreter that any user may run."""
    if not AS_ROOT:
        return sys.executable
    proof = "import ctypes, sys; sys.exit(sys.version_info < (3, 11))"
    for candidate in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            tried = subprocess.run(
                [candidate, "-c", proof], user=NOBODY, group=NOBODY, extra_groups=[],
                cwd="/", capture_output=True,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return candidate
    pytest.skip("no Python of 3.11 or later here may be run by another user")


def ran(stage: Path, command: list[str], **identity: Any) -> str:
    environment = {
        "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(stage),
        # Root without capabilities must not meet what root with them left in the usual place.
        "TMPDIR": str(stage / "t"),
    }
    done = subprocess.run(
        command, cwd=stage, env=environment, capture_output=True, text=True, timeout=200,
        **identity,
    )
    assert done.stdout, done.stderr
    return done.stdout


def judge_others(printed: str, levels: dict[str, str], part: int) -> None:
    """Asserts that each level asked for is the one seen, and that it held."""
    seen = json.loads(printed)

    assert {one["asked"]: one["level"] for one in seen} == levels
    for one in seen:
        results = tuple(AttackResult(**attack) for attack in one["attacks"])
        assert named(results, "breached") == {}, one["level"]
        assert sum(result.result == "blocked" for result in results) >= 150 // part
        assert sum(result.control == ATTACK_SUCCEEDED for result in results) >= 120 // part
        assert {found["claim"]: found["seen_wrong"] for found in one["honest"]
                if found["seen_wrong"]} == {}, one["level"]
        assert len(one["honest"]) >= 42 // part


@LINUX
@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user; see the tests above")
@pytest.mark.nightly
def test_an_ordinary_user_is_held_as_well(
    stage: Path, python: str, seen_here: dict[str, Gauntlet], whole: bool
) -> None:
    granted = seen_here["L4"].isolation.level
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    part = 1 if whole else 2 * SAMPLED

    printed = ran(stage, [python, "gauntlet_here.py", str(part), "L4", "L3", "L2"], **identity)

    judge_others(printed, {"L4": granted, "L3": "L3", "L2": "L2"}, part)


@LINUX
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter is written for x86_64")
@pytest.mark.skipif(not AS_ROOT, reason="the profile is put on by root")
@pytest.mark.parametrize("user", [NOBODY, 0], ids=["an ordinary user", "root without capabilities"])
@pytest.mark.nightly
def test_the_jail_holds_inside_docker(stage: Path, python: str, user: int, whole: bool) -> None:
    wrapped = [sys.executable, "docker_profile.py", str(user), python, "gauntlet_here.py"]
    part = 1 if whole else 2 * SAMPLED

    printed = ran(stage, [*wrapped, str(part), "L4", "L2"])

    # A container may not make namespaces, so the strongest there is the one below.
    judge_others(printed, {"L4": "L3", "L2": "L2"}, part)


@LINUX
@pytest.mark.skipif(not AS_ROOT, reason="the profile is put on by root")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter is written for x86_64")
def test_the_profile_refuses_what_dockers_does(stage: Path) -> None:
    text = """\
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def met(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number, *[ctypes.c_long(one) for one in arguments])
    return errno.errorcode.get(ctypes.get_errno(), "none")
print(met(272, 0), met(435, 0, 0), met(56, 0x10000011), met(41, 40, 1, 0), met(135, 0xFFFFFFFF),
      met(135, 0x40000), met(165, 0, 0, 0), met(101, 16, 1), met(434, os.getpid(), 0))
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines()
              if ":\\t" in line)
print(status["CapEff"], status["CapBnd"], status["NoNewPrivs"], status["Seccomp"])
"""
    printed = ran(stage, [sys.executable, "docker_profile.py", "0", sys.executable, "-c", text])

    assert printed.split("\n") == [
        "EPERM ENOSYS EPERM EPERM none EPERM EPERM EPERM none",
        "0000000000000000 0000000000000000 1 2",
        "",
    ]
