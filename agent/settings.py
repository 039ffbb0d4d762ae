"""Every setting, its default and its environment name, in one place.

`Settings.from_env` is the only reader of the environment.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from llm.budget import Caps, parse_role_caps
from llm.plan import ROLES, Wishes, parse_roles
from sandbox import BACKENDS, STRONGEST

Autonomy = Literal["full_auto", "review_repairs"]
Cache = Literal["off", "deterministic", "all"]


ANSWERS = "answers.db"
"""The file in the data folder with the answers of models that are given again."""


class BadSettings(Exception):
    """A setting has a value that cannot be used; the message names it."""


@dataclass(frozen=True)
class Settings:
    """How a session behaves."""

    provider: str = "auto"
    """`auto`, `mock`, or a provider by name; see `llm.plan`."""
    model: str = ""
    """The model of that provider for every role it takes; empty is the provider's own choice."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role to `provider` or `provider/model`, where it differs from the plan."""
    fallbacks: tuple[str, ...] = ()
    """Models that stand in, in this order, where one cannot be reached; none by default."""
    anthropic_model: str = "claude-sonnet-5-5"
    anthropic_fast_model: str = "claude-haiku-5-5"
    """Claude for the roles that answer with a few small facts."""
    anthropic_base_url: str = ""
    ollama_model: str = "llama3.2:3b"
    ollama_base_url: str = "http://localhost:11434"
    ollama_num_ctx: int = 8_192
    """Tokens of context that Ollama is asked to allocate."""
    ollama_keep_alive: str = "10m"
    hf_model: str = "meta-llama/Llama-3.2-3B-Instruct"
    four_bit: bool = False
    """Load the Hugging Face model with 4-bit weights."""
    openai_model: str = ""
    openai_preset: str = ""
    """An OpenAI-compatible server of `llm.providers.presets`; empty goes by whose key is set."""
    openai_base_url: str = ""
    budget_usd: float = 0.5
    """Dollars a run may spend on models."""
    budget_tokens: int = 200_000
    budget_calls: int = 40
    role_budgets: Mapping[str, Caps] = field(default_factory=dict)
    """Further caps by role."""
    prices: Path | None = None
    """A price table of the user's own, read before ours."""
    allow_host_keys: bool = False
    """Let the host's keys serve visitors of a public page."""
    host_keys: bool = True
    """The host's own keys serve whoever asks: so it is on loopback and in the terminal."""
    record: Path | None = None
    """A file that all conversations with models are recorded in."""
    replay: Path | None = None
    """A record that answers in place of models."""
    cache: Cache = "off"
    """Which identical questions are answered from what was answered before: none, those that
    would get the same answer anew, or all."""
    trace_content: bool = False
    """Let what is asked and answered into traces, where there are any."""
    max_iterations: int = 5
    autonomy_level: Autonomy = "full_auto"
    budget_s: float = 120.0
    """Wall seconds after which a run ends with the outcome `budget`: an outer limit, several times
    what its searches work, since a busy machine makes them slower."""
    model_s: float = 240.0
    """Wall seconds that a run may take beside those where it may ask a model."""
    search_s: float = 10.0
    """Processor seconds of search in one iteration: of the processes that screen, and of the
    listing of edits."""
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
    """The key by which lessons are shared through the Hub. A gated model there, and the preset
    `hf-router`, are given the same one by `agent.models`."""
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
        if "ollama_model" not in values and env.get("OLLAMA_MODEL", "").strip():
            values["ollama_model"] = env["OLLAMA_MODEL"].strip()
        values.update({name: value for name, value in given.items() if value is not None})
        settings = cls(**values)  # type: ignore[arg-type]  # each was parsed to its field's type
        if settings.max_iterations < 1:
            raise BadSettings("max_iterations must be at least 1")
        if settings.record is not None and settings.replay is not None:
            raise BadSettings("HEAL_RECORD and HEAL_REPLAY exclude each other: unset one")
        return settings

    @property
    def wishes(self) -> Wishes:
        """What is set about models, in the words of the plan."""
        return Wishes(
            provider=self.provider, model=self.model, roles=self.roles, fallbacks=self.fallbacks,
            configured=frozenset(
                name for name, variables in _CONFIGURES.items()
                if any(self.environment.get(variable, "").strip() for variable in variables)
            ),
            anthropic_model=self.anthropic_model, anthropic_fast_model=self.anthropic_fast_model,
            anthropic_base_url=self.anthropic_base_url,
            ollama_model=self.ollama_model, ollama_base_url=self.ollama_base_url,
            hf_model=self.hf_model, openai_model=self.openai_model,
            openai_preset=self.openai_preset, openai_base_url=self.openai_base_url,
            num_ctx=self.ollama_num_ctx, keep_alive=self.ollama_keep_alive,
            four_bit=self.four_bit,
        )

    @property
    def caps(self) -> Caps:
        """What a run may spend on models."""
        return Caps(usd=self.budget_usd, tokens=self.budget_tokens, calls=self.budget_calls)


_CONFIGURES = {
    "ollama": ("OLLAMA_BASE_URL", "OLLAMA_GENERATOR_MODEL", "OLLAMA_MODEL"),
    "huggingface": ("HF_MODEL",),
}
"""Local providers, and the variables that show that a user has one."""


ENVIRONMENT: dict[str, str] = {
    "provider": "LLM_PROVIDER",
    "model": "LLM_MODEL",
    "roles": "LLM_ROLES",
    "fallbacks": "LLM_FALLBACK",
    "anthropic_model": "ANTHROPIC_MODEL",
    "anthropic_fast_model": "ANTHROPIC_FAST_MODEL",
    "anthropic_base_url": "ANTHROPIC_BASE_URL",
    "ollama_model": "OLLAMA_GENERATOR_MODEL",
    "ollama_base_url": "OLLAMA_BASE_URL",
    "ollama_num_ctx": "OLLAMA_NUM_CTX",
    "ollama_keep_alive": "OLLAMA_KEEP_ALIVE",
    "hf_model": "HF_MODEL",
    "four_bit": "USE_4BIT",
    "openai_model": "OPENAI_MODEL",
    "openai_preset": "OPENAI_PRESET",
    "openai_base_url": "OPENAI_BASE_URL",
    "budget_usd": "HEAL_BUDGET_USD",
    "budget_tokens": "HEAL_BUDGET_TOKENS",
    "budget_calls": "HEAL_BUDGET_CALLS",
    "role_budgets": "HEAL_ROLE_BUDGETS",
    "prices": "HEAL_PRICES",
    "allow_host_keys": "ALLOW_HOST_KEYS",
    "record": "HEAL_RECORD",
    "replay": "HEAL_REPLAY",
    "cache": "HEAL_CACHE",
    "trace_content": "HEAL_TRACE_CONTENT",
    "max_iterations": "HEAL_MAX_ITERATIONS",
    "autonomy_level": "HEAL_AUTONOMY",
    "budget_s": "HEAL_BUDGET_S",
    "model_s": "HEAL_MODEL_S",
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


def _targets(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (piece.strip() for piece in text.split(","))))


def _cache(text: str) -> Cache:
    if text.lower() == "all":
        return "all"
    if text.lower() not in _WORDS:
        raise ValueError("use 0, 1 or all")
    return "deterministic" if _WORDS[text.lower()] else "off"


_READ: dict[str, Callable[[str], object]] = {
    "roles": parse_roles,
    "fallbacks": _targets,
    "role_budgets": lambda text: parse_role_caps(text, ROLES.__contains__),
    "prices": lambda text: Path(text).expanduser(),
    "record": lambda text: Path(text).expanduser(),
    "replay": lambda text: Path(text).expanduser(),
    "cache": _cache,
}
"""Fields whose text is read by a function of its own, which raises `ValueError`."""


_LEAST = {"budget_usd": 0, "budget_tokens": 0, "budget_calls": 0, "ollama_num_ctx": 1_024}
"""The least that a number may be, where less makes no sense."""


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
        if name in _READ:
            return _READ[name](text)
        if isinstance(default, bool):
            if text.lower() not in _WORDS:
                raise ValueError("use 1 or 0")
            return _WORDS[text.lower()]
        if isinstance(default, Path):
            return Path(text).expanduser()
        if not isinstance(default, int | float):
            return text
        try:
            number = type(default)(text)
        except ValueError:
            raise ValueError("use a number") from None
        if not _LEAST.get(name, float("-inf")) <= number < float("inf"):
            raise ValueError(f"use a number from {_LEAST.get(name, 0)} on")
        return number
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
