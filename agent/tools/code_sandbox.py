"""A sandbox for Python snippets, with limits enforced by the operating system.

    from selfheal import CodeSandbox

    with CodeSandbox(timeout_seconds=10, max_memory_mb=256) as sandbox:
        print(sandbox.execute("print(6 * 7)").stdout)
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Self

from agent.core.loops import blocking
from agent.core.settings import Settings
from agent.target.interpreter import site_folders
from agent.tools.python_run import CodeResult, run_python
from sandbox import Limits, Sandbox, open_sandbox

LEAST_MEMORY_MB = 64
"""The interpreter does not start with less."""
_MESSAGE_BYTES = 1_000_000
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class CodeSandbox:
    """Runs code in a jail without files of this machine, network or other processes.

    Each call has a fresh interpreter and an empty folder.

    Args:
        timeout_seconds: Limit of wall time, and of processor time.
        max_memory_mb: Limit of the address space, interpreter included; Python raises
            `MemoryError` beyond it.
        max_output_bytes: Limit of standard output and standard error together.
        blocked_imports: Modules with their submodules, or functions such as `os.system`, refused
            by an import hook, also to libraries. Python code can circumvent the hook; the
            security boundary is the jail.

    Raises:
        RuntimeError: It is used after its `with` block.
        SandboxError: The jail itself fails.
    """

    def __init__(
        self, timeout_seconds: float = 10.0, max_memory_mb: int = 256,
        max_output_bytes: int = 1_000_000, blocked_imports: Sequence[str] = (), *,
        sandbox: Sandbox | None = None,
    ) -> None:
        if isinstance(blocked_imports, str):
            raise TypeError("blocked_imports must be a list of names, not a string")
        wrong = [one for one in blocked_imports if not _MODULE.fullmatch(one)]
        if wrong:
            raise ValueError(f"blocked_imports: {wrong[0]!r} is not a module name")
        if timeout_seconds <= 0 or max_output_bytes < 1:
            raise ValueError("timeout_seconds and max_output_bytes must be positive")
        if max_memory_mb < LEAST_MEMORY_MB:
            raise ValueError(f"max_memory_mb must be at least {LEAST_MEMORY_MB}, for Python itself")
        self._limits = Limits(
            wall_s=timeout_seconds, cpu_s=timeout_seconds + 1, memory_mib=max_memory_mb,
            output_bytes=max_output_bytes, message_bytes=_MESSAGE_BYTES,
        )
        self._blocked = tuple(blocked_imports)
        self._sandbox = sandbox or configured_sandbox()
        self._closed = False

    async def aexecute(self, code: str, stdin: str = "") -> CodeResult:
        """Runs code as `python FILE` would, with `stdin` as standard input.

        `execute` is the blocking variant; inside a running event loop it blocks the loop.
        """
        if self._closed:
            raise RuntimeError("this sandbox is closed; create a new one")
        folders = await asyncio.to_thread(site_folders)
        return await run_python(
            ["-c", code], {}, self._sandbox, self._limits, stdin=stdin, package_folders=folders,
            blocked=self._blocked,
        )

    execute = blocking(aexecute)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._closed = True


def configured_sandbox() -> Sandbox:
    """The backend configured in the environment, or the strongest on this machine."""
    settings = Settings.from_env()
    return open_sandbox(settings.sandbox, settings.environment or None)
