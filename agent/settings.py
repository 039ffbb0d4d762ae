"""Every setting, its default and its environment name, in one place.

`Settings.from_env` is the only reader of the environment.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from sandbox import BACKENDS, STRONGEST

Autonomy = Literal["full_auto", "review_repairs"]


class BadSettings(Exception):
    """A setting has a value that cannot be used; the message names it."""


@dataclass(frozen=True)
class Settings:
    """How a session behaves."""

    provider: str = "auto"
    max_iterations: int = 5
    autonomy_level: Autonomy = "full_auto"
    budget_s: float = 60.0
    """Wall seconds a run may take before it ends with the outcome `budget`."""
    search_s: float = 10.0
    """Wall seconds of search in one iteration."""
    max_candidates: int = 60_000
    """Candidates a search may screen in one iteration."""
    test_wall_s: float = 5.0
    """Wall seconds one test, or one run of the program, may take; in a run no more than a tenth of
    its budget."""
    proof_s: float = 2.0
    """Wall seconds in which a repair may be proven above E2; 0 leaves that out."""
    ask: bool = False
    """Wait for a person's word where the tests leave several behaviours open."""
    hold_out: bool = True
    """Keep one test from the repair where there are four or more."""
    sandbox: str = STRONGEST
    """A backend of `sandbox.BACKENDS`, or `auto`: whichever local one holds back most here."""
    allow_weak: bool = False
    """Let a public server run code below level L2, which it then says on every page."""
    data_dir: Path = Path()
    """Runs, checkpoints and the fix memory; empty means the user's data folder."""
    hf_token: str = field(default="", repr=False)
    """The key by which lessons are shared through the Hub; nothing else uses it."""
    hf_lessons_repo: str = ""
    """The dataset that lessons are shared through, `owner/name`."""
    drafts: Mapping[str, str] = field(default_factory=dict)
    """Scripted first drafts of the plan without a model: a task's words to program text."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None, **given: object) -> Settings:
        """Settings from the environment, the process's by default; `given` values win.

        Raises `BadSettings` for a value that cannot be used.
        """
        env = os.environ if environment is None else environment
        values: dict[str, object] = {"environment": dict(env)}
        for name, variable in ENVIRONMENT.items():
            if variable in env and env[variable].strip():
                values[name] = _parsed(name, variable, env[variable].strip())
        values.update({name: value for name, value in given.items() if value is not None})
        settings = cls(**values)  # type: ignore[arg-type]  # each was parsed to its field's type
        if settings.max_iterations < 1:
            raise BadSettings("max_iterations must be at least 1")
        return settings


ENVIRONMENT: dict[str, str] = {
    "provider": "LLM_PROVIDER",
    "max_iterations": "HEAL_MAX_ITERATIONS",
    "autonomy_level": "HEAL_AUTONOMY",
    "budget_s": "HEAL_BUDGET_S",
    "search_s": "HEAL_SEARCH_S",
    "max_candidates": "HEAL_MAX_CANDIDATES",
    "test_wall_s": "HEAL_TEST_S",
    "proof_s": "HEAL_PROOF_S",
    "ask": "HEAL_ASK",
    "hold_out": "HEAL_HOLD_OUT",
    "sandbox": "HEAL_SANDBOX",
    "allow_weak": "SANDBOX_ALLOW_WEAK",
    "data_dir": "HEAL_DATA_DIR",
    "hf_token": "HF_TOKEN",
    "hf_lessons_repo": "HF_LESSONS_REPO",
}
"""Field name to the environment variable that sets it."""

_WORDS = {
    "1": True, "true": True, "yes": True, "on": True,
    "0": False, "false": False, "no": False, "off": False,
}


def _parsed(name: str, variable: str, text: str) -> object:
    default = next(item.default for item in fields(Settings) if item.name == name)
    try:
        if name == "autonomy_level":
            if text not in ("full_auto", "review_repairs"):
                raise ValueError("use full_auto or review_repairs")
            return text
        if name == "sandbox":
            if text not in (STRONGEST, *BACKENDS):
                raise ValueError(f"choose one of {', '.join([STRONGEST, *sorted(BACKENDS)])}")
            return text
        if isinstance(default, bool):
            if text.lower() not in _WORDS:
                raise ValueError("use 1 or 0")
            return _WORDS[text.lower()]
        if isinstance(default, Path):
            return Path(text).expanduser()
        if not isinstance(default, int | float):
            return text
        try:
            return type(default)(text)
        except ValueError:
            raise ValueError("use a number") from None
    except ValueError as error:
        raise BadSettings(f"{variable}={text!r} cannot be used: {error}") from error


def data_folder(settings: Settings) -> tuple[Path, str]:
    """The folder for what outlives a process, made if needed, and a warning or an empty text.

    A home that cannot be written gives a temporary folder and a warning, since nothing kept
    there survives a restart.
    """
    wanted = settings.data_dir
    if wanted == Path():
        home = settings.environment.get("XDG_DATA_HOME") or "~/.local/share"
        wanted = Path(home).expanduser() / "self-healing-code-agent"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            pass
    except OSError as error:
        if settings.data_dir != Path():
            raise BadSettings(f"HEAL_DATA_DIR={wanted} cannot be written: {error}") from error
        folder = Path(tempfile.mkdtemp(prefix="self-healing-"))
        return folder, (
            f"{wanted} cannot be written ({error.strerror}), so runs and the fix memory are kept "
            f"in {folder} and forgotten later; set HEAL_DATA_DIR to keep them"
        )
    return wanted, ""
