"""All settings with default, environment variable and meaning.

`agent.interfaces.reference_docs` generates `.env.example` and the settings table from it. Only
`Settings.from_env` reads the environment.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from llm.budget import Caps, parse_role_caps
from llm.plan import Work, parse_roles
from llm.provider import PROVIDERS, Option, Setting
from sandbox import BACKENDS, STRONGEST

GENERATOR = "generator"
ROLES: Mapping[str, Work] = {
    GENERATOR: "write", "debugger": "think", "critic": "think", "arbiter": "think",
    "planner": "think", "spec_tester": "list", "qa_adversary": "list", "memory_summariser": "list",
}


_IS_HEAL = __name__.startswith("selfheal.") or Path(sys.argv[0]).stem == "heal"
COMMAND = "heal" if _IS_HEAL else "python -m agent"
"""The command to type at a terminal; an editable install has the script `heal` too."""


class BadSettings(Exception):
    """A setting has an invalid value; the message names the setting."""


def _role_caps(value: object) -> object:
    return parse_role_caps(value, ROLES.__contains__) if isinstance(value, str) else value


def _sandbox(value: str) -> str:
    if value not in (STRONGEST, *BACKENDS):
        raise ValueError(f"choose one of {', '.join([STRONGEST, *sorted(BACKENDS)])}")
    return value


def _targets(value: object) -> object:
    if isinstance(value, str):
        return tuple(filter(None, (piece.strip() for piece in value.split(","))))
    return value


Autonomy = Literal["full_auto", "review_repairs", "review_all"]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
File = Annotated[Path, AfterValidator(Path.expanduser)]
Number = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(allow_inf_nan=False)]
Targets = Annotated[
    Mapping[str, str],
    BeforeValidator(lambda value: parse_roles(value) if isinstance(value, str) else value),
]


def _env(variable: str, default: object, about: str, *, shown: str = "", **more: Any) -> Any:
    """A field set by a variable; `about` is Markdown, `shown` replaces the default in tables."""
    if shown:
        more["json_schema_extra"] = {"shown": shown}
    return Field(default, validation_alias=variable, description=about, **more)


class Settings(BaseModel):
    """The settings of a session; the constructor does not read the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    provider: str = _env("LLM_PROVIDER", "auto", "see [Use a model](../use-a-model.md)")
    model: str = _env("LLM_MODEL", "", "the model of that provider, for all its roles")
    roles: Targets = _env(
        "LLM_ROLES", {}, "other models for single roles, for example `critic=mock, "
        "debugger=anthropic/claude-opus-5-5`",
    )
    fallbacks: Annotated[tuple[str, ...], BeforeValidator(_targets)] = _env(
        "LLM_FALLBACK", (), "fallback models, in this order, for a model that is unreachable"
    )
    options: Mapping[str, Option] = Field(default_factory=dict)
    """The values of the variables that rows of `llm.provider.PROVIDERS` name."""
    budget_usd: Dollars = _env("HEAL_BUDGET_USD", 0.5, "dollars a run may spend on models")
    budget_tokens: Number = _env("HEAL_BUDGET_TOKENS", 200_000, "tokens a run may spend on models")
    budget_calls: Number = _env("HEAL_BUDGET_CALLS", 40, "model calls of a run, retries included")
    role_budgets: Annotated[Mapping[str, Caps], BeforeValidator(_role_caps)] = _env(
        "HEAL_ROLE_BUDGETS", {}, "additional limits of single roles, for example `critic.calls=2, "
        "debugger.usd=0.10, generator.seconds=90`",
    )
    prices: File | None = _env(
        "HEAL_PRICES", None, "your own price table, in the format of `llm/prices.yaml`"
    )
    prompts: File | None = _env(
        "HEAL_PROMPTS", None, "a folder with your own prompts, which replace those of the same "
        "name in `prompts/`; a changed file is used from the next call on",
    )
    allow_host_keys: bool = _env(
        "ALLOW_HOST_KEYS", False, "`1`: a public page uses the host's API keys for its visitors"
    )
    host_keys: bool = True
    """The host's own API keys may be used, as on loopback and in the terminal."""
    trace_content: bool = _env(
        "HEAL_TRACE_CONTENT", False, "`1`: traces contain the questions and answers of models",
    )
    max_iterations: int = _env(
        "HEAL_MAX_ITERATIONS", 5, "repair iterations of one run: a search, a model's repair or a "
        "tournament is one each", ge=1,
    )
    parallel_strategies: int = _env(
        "HEAL_PARALLEL_STRATEGIES", 3, "parallel model repairs in a tournament; there is no "
        "tournament with 1, or with a model in this process", ge=1, le=8,
    )
    autonomy_level: Autonomy = _env(
        "HEAL_AUTONOMY", "full_auto", "`review_repairs` waits for a person before it accepts a "
        "repair, `review_all` also before a model writes code and before it accepts a first draft"
    )
    enable_search: bool = _env(
        "HEAL_SEARCH", True, "`0`: no search for repairs, neither first nor around a model's repair"
    )
    enable_spec_tests: bool = _env(
        "HEAL_SPEC_TESTS", True, "`0`: no examples are derived from the task description"
    )
    enable_adversarial_tests: bool = _env(
        "HEAL_ADVERSARIAL_TESTS", True, "`0`: no adversarial calls are added to the tests"
    )
    enable_arbitration: bool = _env(
        "HEAL_ARBITRATION", True, "`0`: a derived test that a program fails is not validated "
        "before the program is changed",
    )
    enable_critic: bool = _env(
        "HEAL_CRITIC", True, "`0`: no model reviews a program before it is accepted; a rule still "
        "refuses a program whose own tests were changed",
    )
    enable_simplifier: bool = _env(
        "HEAL_SIMPLIFIER", False, "`1`: unreachable code is removed from a written program, if "
        "all tests still pass",
    )
    enable_security_check: bool = _env(
        "HEAL_SECURITY_CHECK", False, "`1`: risky calls of a written program are listed, and a new "
        "one limits its proof to E1; no finding does not mean that the program is safe",
    )
    enable_cross_session_memory: bool = _env(
        "HEAL_CROSS_SESSION_MEMORY", True, "`0`: fixes and lessons of other runs are not used, and "
        "none are saved",
    )
    budget_s: Seconds = _env(
        "HEAL_BUDGET_S", 120.0,
        "wall seconds of a run: an outer limit, since a busy machine makes a search slower",
    )
    model_s: Seconds = _env(
        "HEAL_MODEL_S", 240.0, "additional wall seconds of a run that can use a model"
    )
    search_s: Seconds = _env(
        "HEAL_SEARCH_S", 10.0, "CPU seconds of search in one iteration; its wall time limit is "
        "eight times as long",
    )
    max_candidates: int = _env(
        "HEAL_MAX_CANDIDATES", 60_000, "candidates pre-checked in one iteration"
    )
    test_wall_s: Seconds = _env(
        "HEAL_TEST_S", 5.0, "wall seconds of one test; in a run at most a tenth of `HEAL_BUDGET_S`"
    )
    hold_out: bool = _env(
        "HEAL_HOLD_OUT", True, "hold out one test if there are four or more, also of a pytest file",
    )
    grace_s: float = _env(
        "HEAL_GRACE_S", 60.0, "seconds after which a run that asks models pauses when its page "
        "was closed; `0`: it continues", ge=0,
    )
    proof_s: Seconds = _env("HEAL_PROOF_S", 2.0, "wall seconds for a proof above E2; `0` skips it")
    require_confidence: float = _env(
        "HEAL_REQUIRE_CONFIDENCE", 0.9, "the lowest estimated probability of being right at which "
        "a patch counts as healed; below it is a proposal (terminal: `--require-confidence`)",
        ge=0, le=1,
    )
    ask: bool = _env(
        "HEAL_ASK", False, "`1`: if the tests allow several behaviours, wait for a person's "
        "choice (terminal: `--ask`)",
    )
    sandbox: Annotated[str, AfterValidator(_sandbox)] = _env(
        "HEAL_SANDBOX", STRONGEST, "the sandbox backend: `auto` is the strongest available here, "
        "`jail` fails if there is none, `subprocess` has limits only; `docker`, `e2b` and "
        "`daytona` run code elsewhere, see [Backends](../backends.md)",
    )
    allow_weak: bool = _env(
        "SANDBOX_ALLOW_WEAK", False, "`1`: a server that other machines can reach runs code even "
        "without a sandbox of level L2 or above, and says so on every page",
    )
    share: bool = _env(
        "HEAL_SHARE", False, "`1`: `app.py` opens a gradio.live link to its page for a week, "
        "which makes the page public (see `SANDBOX_ALLOW_WEAK`)",
    )
    visitor_runs: int = _env(
        "HEAL_VISITOR_RUNS", 3, "concurrent runs of one visitor of a public page; four times as "
        "many for one address", ge=1,
    )
    visitor_rate: int = _env(
        "HEAL_VISITOR_RATE", 20, "runs, checks and answers of one visitor of a public page per "
        "minute; four times as many for one address", ge=1,
    )
    live_runs: int = _env(
        "HEAL_LIVE_RUNS", 64, "concurrent runs of all visitors of a public page", ge=1,
    )
    request_rate: int = _env(
        "HEAL_REQUEST_RATE", 1_200, "requests that a public page answers to one address per "
        "minute, not counting the files that every page loads", ge=1,
    )
    largest_input: int = _env(
        "HEAL_LARGEST_INPUT", 200_000, "characters of a public page visitor's input or answer; "
        "files may have 2 MB", ge=1,
    )
    keep_days: Number = _env(
        "HEAL_KEEP_DAYS", 30, "days after which a run of a public page's visitor is deleted, even "
        "if it waits; `0`: never. The owner's runs are never deleted",
    )
    keep_runs: Number = _env(
        "HEAL_KEEP_RUNS", 5_000, "saved runs of a public page's visitors; those of the visitor "
        "with the most runs are deleted first, active ones never; `0`: all",
    )
    data_dir: File = _env(
        "HEAL_DATA_DIR", Path(), "the folder of runs, checkpoints and the fix memory",
        shown="the user's data folder",
    )
    database_url: str = _env(
        "HEAL_DATABASE_URL", "", "a Postgres database, `postgresql://user@host/name`, for runs, "
        "checkpoints and events that several processes share, instead of files", repr=False,
    )
    queue: bool = _env(
        "HEAL_QUEUE", False, "`1`: runs wait in the database for `heal worker` processes, and this "
        "process drives none",
    )
    max_queue: int = _env(
        "HEAL_MAX_QUEUE", 200, "runs that may wait for a worker; a further one is refused", ge=1,
    )
    metrics_port: int = _env(
        "HEAL_METRICS_PORT", 0, "the port at which page and worker serve `/metrics` for "
        "Prometheus, `/healthz` and `/readyz`; `0`: none", ge=0, lt=65_536,
    )
    metrics_host: str = _env(
        "HEAL_METRICS_HOST", "127.0.0.1", "the address of that port; everybody who reaches it can "
        "read the operator's numbers",
    )
    traces: bool = _env(
        "HEAL_TRACES", False, "`1`: page and worker send OpenTelemetry spans of runs, steps and "
        "model calls to `OTEL_EXPORTER_OTLP_ENDPOINT`",
    )
    log_format: Literal["text", "json"] = _env(
        "HEAL_LOG", "text", "`json`: page and worker log JSON lines on standard error, with the "
        "steps of runs and without texts of users",
    )
    hf_token: str = _env(
        "HF_TOKEN", "", "a Hugging Face token with write access for `memory sync`, or read access "
        "for a gated model; setting it alone has no effect", repr=False,
    )
    hf_lessons_repo: str = _env(
        "HF_LESSONS_REPO", "",
        "the dataset, `owner/name`, through which `memory sync` shares lessons",
    )
    drafts: Mapping[str, str] = Field(default_factory=dict)
    """Scripted first drafts by task description, for runs without a model."""
    environment: Mapping[str, str] = Field(default_factory=dict, repr=False)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None, **given: object) -> Settings:
        """Returns the settings from an environment, by default `os.environ`. Fields in `given`
        that are not `None` take precedence. Raises `BadSettings` for an invalid value."""
        env = dict(os.environ if environment is None else environment)
        present = {name: text.strip() for name, text in env.items() if text.strip()}
        explicit = {name: value for name, value in given.items() if value is not None}
        fields = {
            alias: present[alias] for name, field in cls.model_fields.items()
            if name not in explicit and (alias := str(field.validation_alias)) in present
        }
        try:
            return cls.model_validate({
                "environment": env, "options": dict(_options(present)), **fields, **explicit
            })
        except ValidationError as error:
            raise _bad(error) from error

    @property
    def caps(self) -> Caps:
        return Caps(usd=self.budget_usd, tokens=self.budget_tokens, calls=self.budget_calls)


AgentConfig = Settings
"""The public name: `SelfHealingAgent(config=AgentConfig(enable_critic=False))`."""


def _options(env: Mapping[str, str]) -> Iterator[tuple[str, Option]]:
    """The set variables of providers, each in the type of its default."""
    for setting in provider_settings():
        for variable in filter(None, (setting.variable, setting.alias)):
            if variable in env:
                yield setting.variable, _option(setting, variable, env[variable])
                break


def _option(setting: Setting, variable: str, text: str) -> Option:
    kind: Any = type(setting.default)
    bounds = Field(ge=setting.least) if kind is int else Field()
    try:
        option: Option = TypeAdapter(Annotated[kind, bounds]).validate_python(text)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise BadSettings(f"{variable}={text!r} is not valid: {reason}") from error
    return option


def _bad(error: ValidationError) -> BadSettings:
    """Reports the first error under the name of the environment variable."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0])
    field = Settings.model_fields.get(name)
    variable = str(field.validation_alias) if field is not None else name
    reason = str(first.get("ctx", {}).get("error", first["msg"]))
    return BadSettings(f"{variable}={first['input']!r} is not valid: {reason}")


@dataclass(frozen=True)
class Variable:
    """A row of the settings table."""

    name: str
    shown: str
    """The default as written in an environment; empty if there is none."""
    about: str
    field: str = ""
    """Its name in `AgentConfig`; empty for the options of providers."""


def provider_settings() -> tuple[Setting, ...]:
    """The options of all providers, each once."""
    found = {
        setting.variable: setting for row in PROVIDERS.values() for setting in row.settings.values()
    }
    return tuple(found.values())


def table() -> tuple[Variable, ...]:
    """Every setting with an environment name, in the order of the fields."""
    found = []
    for name, field in Settings.model_fields.items():
        if name == "options":
            found += [
                Variable(one.variable, _shown(one.default), one.about)
                for one in provider_settings()
            ]
        elif field.description:
            extra = field.json_schema_extra
            shown = str(extra["shown"]) if isinstance(extra, dict) else _shown(field.default)
            variable = str(field.validation_alias)
            found.append(Variable(variable, shown, field.description, name))
    return tuple(found)


def _shown(default: object) -> str:
    match default:
        case bool():
            return str(int(default))
        case int() | float():
            return f"{default:g}" if isinstance(default, float) else str(default)
        case _:
            return str(default) if default else ""


def data_folder(settings: Settings) -> tuple[Path, str]:
    """The folder for persistent data, created if needed, and a warning if it is only temporary.

    Raises:
        BadSettings: `HEAL_DATA_DIR` is not writable.
    """
    folder = settings.data_dir
    if folder == Path():
        home = settings.environment.get("XDG_DATA_HOME") or "~/.local/share"
        folder = Path(home).expanduser() / "self-healing-code-agent"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        if settings.data_dir != Path():
            words = f"HEAL_DATA_DIR={folder} is not writable: {error}. Choose another folder."
            raise BadSettings(words) from error
        temporary = Path(tempfile.mkdtemp(prefix="self-healing-"))
        return temporary, (
            f"{folder} is not writable ({error.strerror}). Runs and the fix memory are saved only "
            f"temporarily in {temporary}. Set HEAL_DATA_DIR to a writable folder."
        )
    return folder, ""
