"""Has pytest run all of a suite in this one process, whatever the project's own options say.

Options that end a run early, ask a person, or give the tests to other processes are left out, and
told. What else a project says counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_LEFT_OUT: tuple[tuple[str, Any, str], ...] = (
    ("maxfail", 0, "-x or --maxfail"), ("stepwise", False, "--stepwise"), ("lf", False, "--lf"),
    ("failedfirst", False, "--ff"), ("usepdb", False, "--pdb"), ("trace", False, "--trace"),
    ("numprocesses", None, "-n"), ("dist", "no", "-n"), ("tx", [], "-n"),
    ("looponfail", False, "--looponfail"),
)
"""Where pytest keeps an option, what it is without it, and how it is called."""


class WholeSuite:
    """A plugin; `left_out` are the options of the project that do not count here."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        """Coverage is begun here."""
        self.leave_out_coverage(early_config)
        yield

    def leave_out_coverage(self, early_config: Any) -> None:
        """It slows each test, and would be in the way of ours."""
        known = early_config.known_args_namespace
        if getattr(known, "cov_source", None):
            known.cov_source = []
            self.left_out.append("--cov")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: Any) -> Iterator[None]:
        """All options are read, and nothing was done for them yet."""
        for name, without, called in _LEFT_OUT:
            if getattr(config.option, name, without) not in (without, None, [], False, 0):
                setattr(config.option, name, without)
                if called not in self.left_out:
                    self.left_out.append(called)
        yield
