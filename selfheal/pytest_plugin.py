"""The pytest plugin for `pytest --heal`, which repairs failed tests after the run.

pytest imports this module at every start, so it imports nothing itself. Without `--heal` only the
hooks that add and read the option run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("selfheal", "repair of failing tests").addoption(
        "--heal", action="store_true",
        help="after a failing run, search for a proven repair and save the patch in pytest's cache",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Records the failures of the run, but not in the workers of a parallel run."""
    if config.getoption("--heal") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Healer(config))


class _Healer:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, None] = {}
        self._left: dict[str, None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._left = dict.fromkeys(item.nodeid for item in session.items)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._left.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Starts the repair after pytest's last output."""
        if not self._failed:
            return
        cache = getattr(config, "cache", None)
        if cache is None:
            print("heal: not started, because it saves the patch in pytest's cache, which is off")
            return
        from agent.interfaces.project.after_pytest import heal_in_a_process

        heal_in_a_process(
            config.rootpath, [*self._failed], [*self._left],
            [*config.invocation_params.args], config.invocation_params.dir,
            cache.mkdir("heal") / "heal.patch",
        )
