"""`pytest --heal`: what failed is healed when the run is over.

pytest imports this at each of its starts, so it imports nothing; without `--heal` no hook of it
runs beside those that add the option and look at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.getgroup("selfheal", "healing what fails").addoption(
        "--heal", action="store_true",
        help="after a red run: search a proven repair of what failed, and keep the patch in "
        "pytest's cache",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watches a run that is to be healed; the workers of a parallel one are not."""
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
        """After pytest's last word, whatever it was."""
        if not self._failed:
            return
        cache = getattr(config, "cache", None)
        if cache is None:
            print("heal: nothing is healed: the patch is kept in pytest's cache, which is off")
            return
        from agent.interfaces.project.after_pytest import heal_in_a_process

        heal_in_a_process(
            config.rootpath, [*self._failed], [*self._left],
            [*config.invocation_params.args], config.invocation_params.dir,
            cache.mkdir("heal") / "heal.patch",
        )
