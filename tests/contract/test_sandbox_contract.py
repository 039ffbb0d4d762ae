"""Every backend keeps every promise of `sandbox.contract`, at each level it can be given.

Where less is held back, `make test` tries a quarter of them, at each level others.
"""

import os

import pytest

from sandbox import BACKENDS, Sandbox, SandboxUnavailable, open_sandbox
from sandbox.contract import CHECKS, ContractCheck
from sandbox.jail import JailSandbox
from sandbox.levels import JailLevel
from sandbox.sandbox import REMOTE

# A test must not spend somebody's credit because a key lies in the environment.
ASKED_FOR = os.environ.get("SANDBOX_CONTRACT_AT", "").split(",")
LOCAL = [name for name in BACKENDS if name not in REMOTE or name in ASKED_FOR]

SANDBOXES: list[tuple[str, JailLevel | None]] = [
    *((name, None) for name in LOCAL if name != "jail"),
    ("jail", "L2"),
    ("jail", "L3"),
    ("jail", "L4"),
]
WEAKER = [("jail", "L2"), ("jail", "L3"), ("subprocess", None)]


def opened(backend: str, at_most: JailLevel | None) -> Sandbox:
    try:
        return open_sandbox(backend) if at_most is None else JailSandbox(at_most=at_most)
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("check", "backend", "at_most"), [
    pytest.param(
        check, backend, level, id=f"{check.claim}-{backend} {level or ''}",
        marks=[pytest.mark.weaker] if (backend, level) in WEAKER else [],
    )
    for check in CHECKS for backend, level in SANDBOXES
])
async def test_every_backend_holds(
    check: ContractCheck, backend: str, at_most: JailLevel | None
) -> None:
    sandbox = opened(backend, at_most)
    level = (await sandbox.isolation()).level
    if at_most not in (None, level):
        pytest.skip(f"this machine grants {level}, not {at_most}")
    if not check.claimed(level):
        pytest.skip(f"not claimed at {level}")
    if check.needs_own_user and backend == "subprocess" and os.geteuid() != 0:
        pytest.skip("the subprocess backend gives a job its own user only where it runs as root")
    if missing := check.missing():
        pytest.skip(missing)

    seen_wrong = await check.seen_wrong(sandbox)

    assert seen_wrong == ""
