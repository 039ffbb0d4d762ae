"""Every setting with its default, variable and meaning. `agent.interfaces.reference_docs` writes
tables of README and `.env.example` from it. Only `Settings.from_env` reads the environment."""

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
    """A setting has a value that cannot be used; the message names it."""


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


def _set(variable: str, default: object, about: str, *, shown: str = "", **more: Any) -> Any:
    """A field set by a variable; `about` is Markdown, `shown` replaces an unreadable default in
    tables."""
    if shown:
        more["json_schema_extra"] = {"shown": shown}
    return Field(default, validation_alias=variable, description=about, **more)


class Settings(BaseModel):
    """How a session behaves. Making one reads nothing but what is given."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    provider: str = _set("LLM_PROVIDER", "auto", "see [Use a model](../use-a-model.md)")
    model: str = _set("LLM_MODEL", "", "the model of that provider, for all roles it takes")
    roles: Targets = _set(
        "LLM_ROLES", {}, "roles that another model answers, as `critic=mock, "
        "debugger=anthropic/claude-opus-5-5`",
    )
    fallbacks: Annotated[tuple[str, ...], BeforeValidator(_targets)] = _set(
        "LLM_FALLBACK", (), "models that stand in, in this order, where one cannot be reached"
    )
    options: Mapping[str, Option] = Field(default_factory=dict)
    """What is set of the variables that rows of `llm.provider.PROVIDERS` name."""
    budget_usd: Dollars = _set("HEAL_BUDGET_USD", 0.5, "dollars a run may spend on models")
    budget_tokens: Number = _set("HEAL_BUDGET_TOKENS", 200_000, "tokens a run may spend on models")
    budget_calls: Number = _set("HEAL_BUDGET_CALLS", 40, "calls of models, retries among them")
    role_budgets: Annotated[Mapping[str, Caps], BeforeValidator(_role_caps)] = _set(
        "HEAL_ROLE_BUDGETS", {}, "further caps by role, as `critic.calls=2, debugger.usd=0.10, "
        "generator.seconds=90`",
    )
    prices: File | None = _set(
        "HEAL_PRICES", None, "a price table of your own, in the form of `llm/prices.yaml`"
    )
    prompts: File | None = _set(
        "HEAL_PROMPTS", None, "a folder of prompts of your own, which stand in for those of "
        "`prompts/` by their name; a file that is changed counts from the next call on",
    )
    allow_host_keys: bool = _set(
        "ALLOW_HOST_KEYS", False, "`1`: a public page uses the host's keys for its visitors"
    )
    host_keys: bool = True
    """The host's own keys serve whoever asks: so it is on loopback and in the terminal."""
    trace_content: bool = _set(
        "HEAL_TRACE_CONTENT", False,
        "`1`: what is asked and answered goes into traces, where there are any",
    )
    max_iterations: int = _set(
        "HEAL_MAX_ITERATIONS", 5, "rounds of repair in one run: a search, a model's repair or a "
        "tournament is one each", ge=1,
    )
    parallel_strategies: int = _set(
        "HEAL_PARALLEL_STRATEGIES", 3, "repairs that a model is asked for side by side in a "
        "tournament; with 1, or a model in this process, none is held", ge=1, le=8,
    )
    autonomy_level: Autonomy = _set(
        "HEAL_AUTONOMY", "full_auto", "`review_repairs` waits for a person before a repair is "
        "kept, `review_all` also before a model is asked to write, and before a first draft is kept"
    )
    enable_search: bool = _set(
        "HEAL_SEARCH", True, "`0`: no repair is searched for, neither at first nor around a model's"
    )
    enable_spec_tests: bool = _set(
        "HEAL_SPEC_TESTS", True, "`0`: no examples are derived from a task's words"
    )
    enable_adversarial_tests: bool = _set(
        "HEAL_ADVERSARIAL_TESTS", True, "`0`: no adversarial calls join the tests"
    )
    enable_arbitration: bool = _set(
        "HEAL_ARBITRATION", True, "`0`: a derived test that a program fails is not judged itself "
        "before the program is changed",
    )
    enable_critic: bool = _set(
        "HEAL_CRITIC", True, "`0`: no model reviews a program before it is kept; the rule does, "
        "which refuses one whose own tests were changed",
    )
    enable_simplifier: bool = _set(
        "HEAL_SIMPLIFIER", False, "`1`: what can never run is left out of what was written, where "
        "all tests still pass",
    )
    enable_security_check: bool = _set(
        "HEAL_SECURITY_CHECK", False, "`1`: risky calls of what was written are named, and a new "
        "one holds its proof at E1; finding none says nothing of safety",
    )
    enable_cross_session_memory: bool = _set(
        "HEAL_CROSS_SESSION_MEMORY", True, "`0`: no fix and no lesson of another run is used, and "
        "none is kept",
    )
    budget_s: Seconds = _set(
        "HEAL_BUDGET_S", 120.0,
        "wall seconds of a run: an outer limit, since a busy machine makes a search slower",
    )
    model_s: Seconds = _set(
        "HEAL_MODEL_S", 240.0, "further wall seconds of a run whose plan has a model"
    )
    search_s: Seconds = _set(
        "HEAL_SEARCH_S", 10.0, "processor seconds of search in one iteration; it is cut by the "
        "clock only after eight times as long",
    )
    max_candidates: int = _set(
        "HEAL_MAX_CANDIDATES", 60_000, "candidates screened in one iteration"
    )
    test_wall_s: Seconds = _set(
        "HEAL_TEST_S", 5.0, "wall seconds of one test; in a run at most a tenth of `HEAL_BUDGET_S`"
    )
    hold_out: bool = _set(
        "HEAL_HOLD_OUT", True,
        "hold one test out where there are four or more, of a pytest file too",
    )
    grace_s: float = _set(
        "HEAL_GRACE_S", 60.0, "seconds after which a run that asks models waits, where its page "
        "was closed; `0`: it goes on", ge=0,
    )
    proof_s: Seconds = _set(
        "HEAL_PROOF_S", 2.0,
        "wall seconds in which a repair may be proven above E2; `0` leaves that out",
    )
    require_confidence: float = _set(
        "HEAL_REQUIRE_CONFIDENCE", 0.9, "the least estimated probability of being right with which "
        "a patch counts as healed; below it is a proposal (terminal: `--require-confidence`)",
        ge=0, le=1,
    )
    ask: bool = _set(
        "HEAL_ASK", False, "`1`: where the tests leave several behaviours open, wait for a "
        "person's word (terminal: `--ask`)",
    )
    sandbox: Annotated[str, AfterValidator(_sandbox)] = _set(
        "HEAL_SANDBOX", STRONGEST, "the sandbox backend: `auto` is the strongest that this machine "
        "grants, `jail` is refused where there is none, `subprocess` has limits only; `docker`, "
        "`e2b` and `daytona` run code elsewhere, see [Backends](../backends.md)",
    )
    allow_weak: bool = _set(
        "SANDBOX_ALLOW_WEAK", False, "`1`: a server that other machines can reach runs code even "
        "where no jail of level L2 or above was seen to hold, and says so on every page",
    )
    share: bool = _set(
        "HEAL_SHARE", False, "`1`: `app.py` opens a link of gradio.live to its page for a week, "
        "which makes the page public (see `SANDBOX_ALLOW_WEAK`)",
    )
    visitor_runs: int = _set(
        "HEAL_VISITOR_RUNS", 3, "runs that go on at once for one visitor of a public page; from "
        "one address four times as many", ge=1,
    )
    visitor_rate: int = _set(
        "HEAL_VISITOR_RATE", 20, "runs and checks that one visitor of a public page starts, and "
        "answers by which runs go on, in a minute; from one address four times as many", ge=1,
    )
    live_runs: int = _set(
        "HEAL_LIVE_RUNS", 64, "runs that go on at once on a public page, for all of its visitors",
        ge=1,
    )
    request_rate: int = _set(
        "HEAL_REQUEST_RATE", 1_200, "requests that a public page answers to one address in a "
        "minute, files that every page loads apart", ge=1,
    )
    largest_input: int = _set(
        "HEAL_LARGEST_INPUT", 200_000, "characters that a visitor of a public page may bring to a "
        "run or answer it with; files may be 2 MB", ge=1,
    )
    keep_days: Number = _set(
        "HEAL_KEEP_DAYS", 30, "days after which a run of a public page's visitor is deleted, "
        "one that waits too; `0`: never. The owner's own are kept",
    )
    keep_runs: Number = _set(
        "HEAL_KEEP_RUNS", 5_000, "runs of a public page's visitors that are kept; whoever has "
        "the most makes room first; one that goes on is never deleted; `0`: all",
    )
    data_dir: File = _set(
        "HEAL_DATA_DIR", Path(), "runs, checkpoints and the fix memory",
        shown="the user's data folder",
    )
    hf_token: str = _set(
        "HF_TOKEN", "", "a Hugging Face token: one that may write for `memory sync`, one that may "
        "read for a gated model; never used by being there", repr=False,
    )
    hf_lessons_repo: str = _set(
        "HF_LESSONS_REPO", "",
        "the dataset, `owner/name`, that `memory sync` shares lessons through",
    )
    drafts: Mapping[str, str] = Field(default_factory=dict)
    """Scripted first drafts of the plan without a model: a task's words to program text."""
    environment: Mapping[str, str] = Field(default_factory=dict, repr=False)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None, **given: object) -> Settings:
        """Settings from the environment, the process's by default; `given` values win. Raises
        `BadSettings`."""
        env = dict(os.environ if environment is None else environment)
        present = {name: text.strip() for name, text in env.items() if text.strip()}
        wanted = {name: value for name, value in given.items() if value is not None}
        fields = {
            alias: present[alias] for name, field in cls.model_fields.items()
            if name not in wanted and (alias := str(field.validation_alias)) in present
        }
        try:
            return cls.model_validate({
                "environment": env, "options": dict(_options(present)), **fields, **wanted
            })
        except ValidationError as error:
            raise _bad(error) from error

    @property
    def caps(self) -> Caps:
        """What a run may spend on models."""
        return Caps(usd=self.budget_usd, tokens=self.budget_tokens, calls=self.budget_calls)


AgentConfig = Settings
"""Their public name: `SelfHealingAgent(config=AgentConfig(enable_critic=False))`."""


def _options(env: Mapping[str, str]) -> Iterator[tuple[str, Option]]:
    """What is set of the variables of providers, each in the type of its default."""
    for setting in provider_settings():
        for variable in filter(None, (setting.variable, setting.alias)):
            if variable in env:
                yield setting.variable, _option(setting, variable, env[variable])
                break


def _option(setting: Setting, variable: str, text: str) -> Option:
    kind: Any = type(setting.default)
    bounds = Field(ge=setting.least) if kind is int else Field()
    try:
        found: Option = TypeAdapter(Annotated[kind, bounds]).validate_python(text)
    except ValidationError as error:
        told = error.errors(include_url=False)[0]["msg"]
        raise BadSettings(f"{variable}={text!r} cannot be used: {told}") from error
    return found


def _bad(error: ValidationError) -> BadSettings:
    """The first fault, by the variable that would set the field."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0])
    field = Settings.model_fields.get(name)
    variable = str(field.validation_alias) if field is not None else name
    told = str(first.get("ctx", {}).get("error", first["msg"]))
    return BadSettings(f"{variable}={first['input']!r} cannot be used: {told}")


@dataclass(frozen=True)
class Variable:
    """A row of the table of settings."""

    name: str
    shown: str
    """The default, as an environment would say it; empty where nothing is set."""
    about: str
    field: str = ""
    """Its name in `AgentConfig`; empty for what rows of providers name."""


def provider_settings() -> tuple[Setting, ...]:
    """What rows of providers let a user set, each once."""
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
    """The folder for what outlives a process, made if needed, and a warning where it is only
    temporary. Raises `BadSettings` where `HEAL_DATA_DIR` cannot be written."""
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
