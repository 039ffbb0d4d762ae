"""A job that cannot be is refused before it starts, and by every local backend alike."""

from __future__ import annotations

from typing import get_args

import pytest

from sandbox import Job, SandboxError, SandboxUnavailable, open_sandbox
from sandbox.jail import JailSandbox
from sandbox.levels import JailLevel

IMPOSSIBLE = [
    (Job("def"), "<frozen runpy> is not Python"),
    (Job("", modules={"m": "1 +"}), "<frozen m> is not Python"),
    (Job("", files={"/etc/motd": ""}), "relative path"),
    (Job("", files={"a/../../b": ""}), "relative path"),
    (Job("", files={"": ""}), "relative path"),
    (Job("", files={"a\0b": ""}), "relative path"),
    (Job("", files={"a": "", "a/b": ""}), "'a/b' cannot be written: 'a' is a file"),
    (Job("", files={"a": "1", "./a": "2"}), "two of a job's files have the path 'a'"),
    (Job("", files={"a" * 256: ""}), "its name is too long"),
    (Job("", files={"/".join(["aa"] * 1001): ""}), "its name is too long"),
    (Job("", files={"\ud800": ""}), "surrogates not allowed"),
    (Job("", seed=-1), "seed"),
    (Job("", package_folders=("/nowhere",)), "'/nowhere' does not exist"),
    (Job("", payload=object()), "JSON"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("backend", ["subprocess", *get_args(JailLevel)])
async def test_a_job_that_cannot_be_is_refused_before_it_starts(backend: str) -> None:
    try:
        levels: dict[str, JailLevel] = {level: level for level in get_args(JailLevel)}
        jailed = backend in levels
        sandbox = JailSandbox(levels[backend]) if jailed else open_sandbox(backend)
        await sandbox.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))

    for job, said in IMPOSSIBLE:
        with pytest.raises(SandboxError, match=said):
            await sandbox.run(job)


@pytest.mark.parametrize("backend", ["subprocess", "auto"])
async def test_a_file_is_known_by_one_spelling_of_its_path(backend: str) -> None:
    job = Job("jail.send([*jail.files])", files={"./a//b.txt": "", "c/": ""})

    assert (await open_sandbox(backend).run(job)).messages == (["a/b.txt", "c"],)
