"""What the tests of the judge share: one sandbox, and a short way to judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, get_args

import pytest

from agent.core.domain import File, Report, Script, Solution, Task
from agent.verify.judge import check
from sandbox.jail import JailSandbox
from sandbox.levels import JailLevel
from sandbox.sandbox import Sandbox, open_sandbox

Judge = Callable[..., Awaitable[Report]]
LEVELS = ("subprocess", "L3", "L4")
"""Where all tests of the judge run; those for L2, where no file can be opened, say so."""
AT_THE_STRONGEST = "test_corpora.py"
"""Long corpora, for which one level is enough."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With `--whole`, each test that needs a jail runs at every level."""
    marks = metafunc.definition.iter_markers("parametrize")
    own = any("jail" in str(mark.args[0]) for mark in marks)
    if (
        metafunc.config.getoption("--whole") and "jail" in metafunc.fixturenames and not own
        and metafunc.definition.path.name != AT_THE_STRONGEST
    ):
        metafunc.parametrize("jail", LEVELS, indirect=True, scope="session")


@pytest.fixture(scope="session")
def jail(request: pytest.FixtureRequest) -> Sandbox:
    """The strongest sandbox of this machine; indirectly, a backend's name or a jail's level."""
    wanted: str = getattr(request, "param", "")
    if wanted not in get_args(JailLevel):
        return open_sandbox(wanted) if wanted else open_sandbox()
    return JailSandbox(at_most=wanted)


@pytest.fixture
def judge(jail: Sandbox) -> Judge:
    """Judges a program's text by named snippets, or by nodes of one test file."""

    async def judged(
        text: str, tests: Mapping[str, str] | str, nodes: tuple[str, ...] = (), *,
        task: Task | None = None, entry: str = "program.py", files: tuple[File, ...] = (),
        **more: Any,
    ) -> Report:
        if isinstance(tests, str):
            scripts = [Script(name=n, origin="user", code=tests, node=n) for n in nodes] or [
                Script(name="it", origin="user", code=tests)
            ]
        else:
            scripts = [Script(name=n, origin="user", code=code) for n, code in tests.items()]
        solution = Solution(files=(File(path=entry, text=text), *files), entry=entry)
        return await check(solution, scripts, task or Task(), jail, **more)

    return judged
