"""Jobs that run a program and its tests in one process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from agent.core.domain import Script, Solution, Task, TestCase
from agent.verify import jail_modules
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, Limits

KILL_S = 2.0
"""Added to the child's own limits, for calls into C that no timer interrupts."""


async def job(
    task: Task, solution: Solution, tests: Sequence[TestCase], sandbox: Sandbox, program: str,
    **more: Json,
) -> Job:
    """The job that runs `program`, a module of `precheck.programs`, with a solution and its tests.

    `more` has further entries of the payload.
    """
    texts = {file.path: file.text for file in (*task.support, *solution.files)}
    own = {path.partition("/")[0].removesuffix(".py") for path in texts}
    own |= {PurePosixPath(solution.entry).stem, "solution"}
    with_pytest = any(jail_modules.needs_packages(test, own) for test in tests)
    bundle = await jail_modules.bundle(sandbox, task.site_dirs, with_pytest=with_pytest)
    payload: dict[str, Json] = {
        "entry": solution.entry,
        "base": solution.text,
        "stdin": task.stdin,
        "argv": list(task.argv),
        "tests": [
            {
                "code": test.code,
                "uses_output": isinstance(test, Script) and test.uses_output,
                "node": test.node if isinstance(test, Script) else "",
                "without": [*test.excluded_nodes] if isinstance(test, Script) else [],
                "folder": os.path.dirname(test.file) if isinstance(test, Script) else "",
            }
            for test in tests
        ],
        **more,
    }
    return Job(
        program=jail_modules.program(program), payload=payload, modules=bundle.modules, files=texts,
        package_folders=bundle.package_folders,
        preload=jail_modules.preloads(text for path, text in texts.items() if path.endswith(".py")),
        limits=Limits(wall_s=600.0, cpu_s=600.0, output_bytes=8_000_000),
    )
