"""`auto` is the jail where there is one; where there is none it says so, and why."""

from __future__ import annotations

import pytest

from sandbox import Job, SandboxUnavailable, open_sandbox
from sandbox.jail import JailSandbox
from sandbox.levels import Isolation
from sandbox.strongest import StrongestSandbox


async def test_the_jail_is_the_default_where_granted(strongest: JailSandbox) -> None:
    jailed = await strongest.isolation()
    sandbox = open_sandbox()

    assert (await sandbox.run(Job("print(6 * 7)"))).stdout == "42\n"
    assert await sandbox.isolation() == jailed
    assert sandbox.describe().startswith(f"jail: {jailed.level} ")


async def test_without_a_jail_there_are_limits_and_a_reason(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    async def not_granted(self: JailSandbox, for_job: Job | None = None) -> Isolation:
        raise SandboxUnavailable("the kernel has no seccomp")

    monkeypatch.setattr(JailSandbox, "isolation", not_granted)
    sandbox = StrongestSandbox()

    outcome = await sandbox.run(Job("print(6 * 7)"))
    seen = await sandbox.isolation()

    assert (outcome.ended, outcome.stdout) == ("completed", "42\n")
    assert seen.level == "L1"
    assert [(layer.name, layer.holds) for layer in seen.layers] == [
        ("limits", True), ("jail", False),
    ]
    assert sandbox.describe().startswith("subprocess: ")
    assert "the kernel has no seccomp" in sandbox.describe()

    monkeypatch.setattr("sandbox.strongest.sys.platform", "sunos5")
    sandbox = StrongestSandbox()

    assert (await sandbox.isolation()).level == "L1"
    assert "the jail needs Linux" in sandbox.describe()


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SandboxUnavailable, match=r"auto, .*jail, subprocess"):
        open_sandbox("chroot")
