"""A sandbox for pieces of Python, with limits that the system enforces.

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
from agent.target.interpreter import own_sites
from agent.tools.python_run import CodeResult, run_python
from sandbox import Limits, Sandbox, open_sandbox

LEAST_MEMORY_MB = 64
"""With less the interpreter and what it loads first do not start."""
_MESSAGE_BYTES = 1_000_000
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class CodeSandbox:
    """Runs code in a jail: no file of this machine, no network, no other process.

    `timeout_seconds` bounds the clock, and the processor time with it; `max_memory_mb` the address
    space, the interpreter's own included; `max_output_bytes` standard output and errors together.
    More of any ends the code, but for memory, where Python raises `MemoryError`.

    `blocked_imports` are modules, with what lies below them, or functions such as `os.system`.
    They are refused inside the jailed interpreter by a hook that stands before the code, and
    to libraries too. That is a convenience, which tells honest code what it may not use:
    Python code can get round it. What holds the code back is the jail, whatever is blocked.

    Each call has a fresh interpreter and an empty folder; nothing is left for the next. Used
    after its `with`, it raises `RuntimeError`. Where the jail itself fails, `SandboxError`.
    """

    def __init__(
        self, timeout_seconds: float = 10.0, max_memory_mb: int = 256,
        max_output_bytes: int = 1_000_000, blocked_imports: Sequence[str] = (), *,
        sandbox: Sandbox | None = None,
    ) -> None:
        if isinstance(blocked_imports, str):
            raise TypeError("blocked_imports is a list of names, not one text")
        wrong = [one for one in blocked_imports if not _MODULE.fullmatch(one)]
        if wrong:
            raise ValueError(f"blocked_imports: {wrong[0]!r} is no name of a module")
        if timeout_seconds <= 0 or max_output_bytes < 1:
            raise ValueError("timeout_seconds and max_output_bytes must be more than nothing")
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
        """Runs code as `python FILE` would, `stdin` its standard input. `execute`, which is no
        coroutine, works inside a running event loop too, which waits for it."""
        if self._closed:
            raise RuntimeError("this sandbox is closed; open another")
        sites = await asyncio.to_thread(own_sites)
        return await run_python(
            ["-c", code], {}, self._sandbox, self._limits, stdin=stdin, sites=sites,
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
    """The backend that the environment names, or the strongest of this machine."""
    settings = Settings.from_env()
    return open_sandbox(settings.sandbox, settings.environment or None)
