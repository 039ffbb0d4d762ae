"""Every backend keeps every promise of `sandbox.contract`, at each level it can be given."""

import os

import pytest

from sandbox import BACKENDS, SandboxUnavailable, open_sandbox
from sandbox.contract import CHECKS, Check


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.claim)
async def test_every_backend_holds(check: Check, backend: str) -> None:
    try:
        sandbox = open_sandbox(backend)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    if check.needs_own_user and backend == "subprocess" and os.geteuid() != 0:
        pytest.skip("the subprocess backend gives a job its own user only where it runs as root")

    seen_wrong = await check.seen_wrong(sandbox)

    assert seen_wrong == ""
