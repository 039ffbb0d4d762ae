"""A user's request, which each interface builds, and the values that are derived from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.core.settings import Autonomy, Settings
from agent.interfaces.exits import Requirements
from agent.target.errors import BadInput
from agent.target.repository.layout import find_layout
from agent.target.source import missing
from agent.target.task import Inputs
from llm.plan import parse_roles

if TYPE_CHECKING:
    from agent.core.domain import Integrity, ProofLevel
    from agent.interfaces.project.upload import UploadedFile
    from agent.loop.run import RunRequest
    from llm.budget import Caps

FILE_ONLY_OPTIONS = {
    "task": "--task", "tests": "--tests", "tests_file": "--tests-file", "with_files": "--with",
    "stdin": "--stdin", "doctests": "--doctests", "ask": "--ask",
}
"""Options that cannot be used for a project, by field."""
PROJECT_ONLY_OPTIONS = {
    "test_cmd": "--test-cmd", "test_timeout": "--test-timeout", "keyword": "-k",
    "last_failed": "--lf", "only": "--only", "exclude": "--exclude", "report": "--report",
    "junit": "--junit", "commit": "--commit", "grant": "--grant", "since": "--since",
}
"""Options that can only be used for a project, by field."""
LEAST_S = 1.0
"""Minimum time limit of a run, even if the first run of the suite used up the time."""
OUTPUTS = ("out", "log", "report", "junit", "sarif")


class UsageError(BadInput):
    """The arguments parse but cannot be used; the message says why."""


@dataclass(frozen=True)
class HealRequest(Inputs):
    """A request; the fields are options of `heal run`."""

    test_cmd: str = ""
    test_timeout: float = 0.0
    keyword: str = ""
    last_failed: bool = False
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    since: str = ""
    grant: bool = False
    means_project: bool = False
    """Whether `path` is part of a project even if it looks like a single program."""
    files: tuple[UploadedFile, ...] = ()
    """Submitted files, instead of a path."""
    failed_outside: bool = False
    """Whether the tests just failed outside of the jail."""
    is_untrusted_upload: bool = False
    """Whether `path` is an untrusted upload, which gets no grants."""

    provider: str | None = None
    model: str | None = None
    role: Sequence[str] = ()
    budget_usd: float | None = None
    max_iterations: int | None = None
    timeout: float | None = None
    """Wall seconds of the run."""
    ask: bool | None = None
    autonomy: Autonomy | None = None
    learn: bool = True
    caps: Caps | None = None
    """Limits on model calls, instead of `budget_usd`."""
    require_confidence: float | None = None
    require_proof: ProofLevel | None = None
    require_integrity: Integrity | None = None
    accept_proposed: bool = False

    out: Path | None = None
    log: Path | None = None
    report: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    apply: bool = False
    commit: bool = False
    force: bool = False
    watch: bool = False
    dry_run: bool = False

    @property
    def is_project(self) -> bool:
        """Whether the request is for a project, judged by its own suite."""
        if self.path is None or self.means_project:
            return self.means_project
        from agent.interfaces.project.selection import names_project

        return names_project(self.path, has_tests=bool(self.tests or self.tests_file))

    @property
    def start(self) -> Path:
        """The path from which the project root is looked for, upwards."""
        return Path((self.path or os.curdir).partition("::")[0])

    @property
    def nodes(self) -> list[str]:
        """The named tests of the project: ids, files and folders, as typed."""
        path = self.path or os.curdir
        whole = self.is_untrusted_upload or (
            "::" not in path and find_layout(self.start).root == Path(os.path.abspath(path))
        )
        return [*(() if whole else (path,)), *self.args[: self._first_option_index]]

    @property
    def arguments(self) -> Sequence[str]:
        """Arguments for pytest: all from the first that begins with a dash."""
        return self.args[self._first_option_index :]

    @property
    def _first_option_index(self) -> int:
        return next((at for at, one in enumerate(self.args) if one.startswith("-")), len(self.args))

    @property
    def required(self) -> Requirements:
        return Requirements(self.require_proof, self.require_integrity, self.accept_proposed)

    @property
    def writes(self) -> bool:
        return self.apply or self.commit or self.out is not None

    def run_arguments(self, *, pauses: bool, asks: bool, spent_s: float = 0.0) -> RunRequest:
        """Returns the arguments of the run.

        Args:
            pauses: Whether it may wait for a user at the terminal at a limit.
            asks: Whether it may ask that user.
            spent_s: Seconds of the time limit that were used before.
        """
        left_s = None if self.timeout is None else max(LEAST_S, self.timeout - spent_s)
        return {
            "max_iterations": self.max_iterations, "budget_s": left_s, "pauses": pauses,
            "ask": self.ask if asks else False, "caps": self.caps, "learn": self.learn,
            "autonomy_level": self.autonomy, "require_proof": self.require_proof,
            "require_integrity": self.require_integrity,
            "require_confidence": self.require_confidence,
        }

    def settings(self, **given: Any) -> Settings:
        """Returns the environment's settings with these options; raises `UsageError`,
        `BadSettings`."""
        try:
            roles = parse_roles(",".join(self.role))
        except ValueError as error:
            raise UsageError(f"--role: {error}") from error
        return Settings.from_env(
            None, provider=self.provider, model=self.model, roles=roles or None,
            budget_usd=self.budget_usd, **given,
        )

    def refuse_contradictions(self) -> None:
        """Raises `UsageError` for options that cannot be combined, before anything runs."""
        if self.is_project:
            self._refuse(FILE_ONLY_OPTIONS, f"{self.path} is judged by its project's own suite")
            if self.require_proof in ("E3", "E4"):
                raise UsageError(
                    f"--require-proof {self.require_proof}: the proof of a project is at most "
                    "E2. Require at most E2."
                )
        else:
            if self.path not in (None, "-") and not self.start.exists():
                raise missing(self.start)
            self._refuse(PROJECT_ONLY_OPTIONS, (
                f"{self.path} is neither a project's folder nor one of its tests" if self.path
                else "no project was found around this folder. Name it: heal run . …"
            ))
        if self.dry_run and self.writes:
            raise UsageError(
                "--dry-run cannot be combined with --apply, --commit or --out, which write files."
            )
        if self.path is None and self.task is None:
            raise UsageError("Nothing to do. Give a PATH, - for standard input, or with `heal run` "
                             "a task in words (--task).")
        if self.task is not None and not self.task.strip():
            raise UsageError("The task is empty. Describe in words what the program must do.")
        if self.watch and self.path in (None, "-"):
            raise UsageError("--watch needs a PATH.")
        written = [name for name in OUTPUTS if getattr(self, name)]
        if self.watch and (written or self.commit):
            raise UsageError(
                f"--watch cannot be combined with --{(*written, 'commit')[0]}, which writes once. "
                "Use --apply, or run again without --watch."
            )
        if self.apply and self.path in (None, "-"):
            raise UsageError("--apply needs a PATH that is a file. Use --out FILE instead.")
        self.refuse_overwriting()

    def refuse_overwriting(self) -> None:
        """Raises `UsageError` for output files that exist."""
        for option in OUTPUTS:
            path: Path | None = getattr(self, option)
            if path is not None and path.exists() and not self.force:
                raise UsageError(f"--{option}: {path} exists. Add --force to overwrite it.")
            if path is not None and not path.parent.is_dir():
                raise UsageError(f"--{option}: there is no folder {path.parent}.")

    def _refuse(self, options: dict[str, str], why: str) -> None:
        for name, option in options.items():
            if getattr(self, name):
                raise UsageError(f"{option} cannot be used here: {why}. Remove it and run again.")
