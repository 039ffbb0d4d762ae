"""What holds untrusted code back here, as it was seen and in words for people."""

from __future__ import annotations

from typing import get_args

from agent.core.domain import JailLayer, JailStatus, Task
from agent.verify import jail_modules
from sandbox import Job, Sandbox
from sandbox.levels import LEVEL_MEANINGS, Isolation, JailLevel


async def jail_seen(sandbox: Sandbox, task: Task | None = None) -> JailStatus:
    """The level seen to hold, on the interpreter that the judge will use for a task.

    Raises `SandboxError`.
    """
    sites = task.sites if task is not None else ()
    coming = Job("", modules=jail_modules.modules(), sites=sites)
    if task is not None and task.project is not None:
        project = task.project
        sites = (*sites, *project.readable)
        coming = jail_modules.suite_surroundings(sites, project.python, project.loopback)
    return jail_of(await sandbox.isolation(coming), sandbox.name)


def jail_of(isolation: Isolation, backend: str) -> JailStatus:
    """What was seen, as events and faces carry it."""
    seen = " seen to hold" if isolation.level in get_args(JailLevel) else ""
    lacks = "".join(
        f"; no jail: {layer.seen}" for layer in isolation.layers if layer.name == "jail"
    )
    return JailStatus(
        words=f"{backend}: {isolation.level}{seen}: {LEVEL_MEANINGS[isolation.level]}{lacks}",
        level=isolation.level,
        layers=tuple(
            JailLayer(name=layer.name, holds=layer.holds, seen=layer.seen)
            for layer in isolation.layers
        ),
    )
