"""Reports which isolation the sandbox was measured to provide."""

from __future__ import annotations

from typing import get_args

from agent.core.domain import JailLayer, JailStatus, Task
from agent.verify import jail_modules
from sandbox import Job, Sandbox
from sandbox.levels import LEVEL_MEANINGS, Isolation, JailLevel


async def jail_status(sandbox: Sandbox, task: Task | None = None) -> JailStatus:
    """The isolation measured on the interpreter that the judge will use for a task.

    Raises `SandboxError`.
    """
    package_folders = task.site_dirs if task is not None else ()
    job = Job("", modules=jail_modules.modules(), package_folders=package_folders)
    if task is not None and task.project is not None:
        project = task.project
        package_folders = (*package_folders, *project.readable)
        job = jail_modules.base_suite_job(package_folders, project.python, project.loopback)
    return jail_status_of(await sandbox.isolation(job), sandbox.name)


def jail_status_of(isolation: Isolation, backend: str) -> JailStatus:
    """The measured isolation, as events and interfaces show it."""
    measured = ", confirmed by tests" if isolation.level in get_args(JailLevel) else ""
    missing = "".join(
        f"; no jail: {layer.seen}" for layer in isolation.layers if layer.name == "jail"
    )
    return JailStatus(
        words=f"{backend}: {isolation.level}{measured}: {LEVEL_MEANINGS[isolation.level]}{missing}",
        level=isolation.level,
        layers=tuple(
            JailLayer(name=layer.name, holds=layer.holds, observed=layer.seen)
            for layer in isolation.layers
        ),
    )
