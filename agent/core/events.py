"""The events of a run as a closed union of values, and the reading and writing of run logs.

A step that is repeated after a crash writes the same `task` with a higher `attempt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from agent.core.domain import (
    Approach,
    CompetingPatches,
    Diagnosis,
    Integrity,
    JailLayer,
    JailStatus,
    Origin,
    Proof,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Strategy,
    SuspectFile,
    Value,
    renamed_field,
)
from agent.core.state import Ruled, Stop
from llm.types import Finish

Step = Literal[
    "recall", "branch", "specify", "permit", "generate", "attack", "execute", "arbitrate",
    "diagnose", "repair", "attempt", "select", "ask", "help", "simplify", "critique",
    "inspect", "prove",
    "gate", "learn", "finish",
]


class RoleChoice(Value):
    """The model for a role in this run, and why it was chosen."""

    role: str
    provider: str
    model: str
    why: str


class Parent(Value):
    """The run that was forked, and the iteration whose program the fork starts with."""

    run: str
    iteration: int
    edits: tuple[str, ...] = ()


class RunStarted(Value):
    kind: Literal["run_started"] = "run_started"
    title: str
    code: str = ""
    entry: str = ""
    provider: str
    provider_why: str
    sandbox: str
    """The sandbox backend and the protection observed, in words."""
    level: str = ""
    """The sandbox level that was observed to hold; empty if it was not checked."""
    layers: tuple[JailLayer, ...] = ()
    roles: tuple[RoleChoice, ...] = ()
    parent: Parent | None = None
    require_proof: ProofLevel = "E1"
    require_integrity: Integrity | None = None
    limit_s: float = 0.0
    """Seconds after which the run ends or asks for more; 0 if not recorded."""
    remembers: bool = True
    project: bool = False
    """The program is part of a project and is judged by the project's own suite."""

    @property
    def jail(self) -> JailStatus:
        return JailStatus(words=self.sandbox, level=self.level, layers=self.layers)


class StepStarted(Value):
    kind: Literal["step_started"] = "step_started"
    step: Step
    iteration: int


class StepFinished(Value):
    kind: Literal["step_finished"] = "step_finished"
    step: Step
    iteration: int
    wall_ms: float


class TestInfo(Value):
    """One frozen test as shown to readers."""

    __test__ = False

    name: str
    origin: Origin
    code: str


class TestsFrozen(Value):
    """Tests were added to the suite, which only grows."""

    __test__ = False

    kind: Literal["tests_frozen"] = "tests_frozen"
    tests: tuple[TestInfo, ...]


class CodeWritten(Value):
    kind: Literal["code_written"] = "code_written"
    iteration: int
    solution: Solution


class Judged(Value):
    """A solution was judged with the whole suite."""

    kind: Literal["judged"] = "judged"
    iteration: int
    report: Report


class Diagnosed(Value):
    kind: Literal["diagnosed"] = "diagnosed"
    iteration: int
    diagnosis: Diagnosis
    solution: str = ""


class Searched(Value):
    """Progress of a search: the candidates pre-checked so far, and the best result."""

    kind: Literal["searched"] = "searched"
    candidates: int
    plausible: int
    best_passed: int
    total: int
    wall_s: float
    cut_after: float | None = None
    """Seconds after which its budget cut the search; `None` while it runs or if it finished."""
    note: str = ""
    suspects: tuple[SuspectFile, ...] = ()
    """The searched files of a project, the most suspicious first."""


class Recalled(Value):
    kind: Literal["recalled"] = "recalled"
    hit: bool
    replayed: bool = False
    note: str
    lessons: tuple[str, ...] = ()


class IterationEnded(Value):
    """An iteration was judged, with or without a new program."""

    kind: Literal["round_ended"] = "round_ended"
    iteration: int
    approach: Approach
    better: bool
    """Its result is better than that of all earlier iterations."""


class TestRuled(Value):
    """A derived test that the program fails was validated before the program is changed."""

    __test__ = False

    kind: Literal["test_ruled"] = "test_ruled"
    test: str
    ruling: Ruled
    why: str
    quote: str = ""


class ToolCalled(Value):
    """The debugger called a tool before answering, and got its result."""

    kind: Literal["looked"] = "looked"
    tool: str
    arguments: str
    """JSON text as written by the model."""
    result: str = renamed_field("result", "seen", ...)


class PatchProposed(Value):
    kind: Literal["patch_proposed"] = "patch_proposed"
    iteration: int
    strategy: Strategy
    note: str
    diff: str


class NotChosen(Value):
    """A repair of a tournament was not chosen, since another passes more or changes less."""

    kind: Literal["outdone"] = "outdone"
    iteration: int
    by: str
    diff: str
    passed: int
    total: int


class PartialFound(Value):
    """The best partial patch of an unresolved run; an event only in logs of earlier versions."""

    kind: Literal["partial_found"] = "partial_found"
    diff: str
    passed: int
    total: int
    note: str
    code: str = ""
    """The text of its entry file, if the run ended with it."""


class Ambiguous(Value):
    """Several behaviours pass all tests that the repair saw."""

    kind: Literal["ambiguous"] = "ambiguous"
    iteration: int
    competing: CompetingPatches = renamed_field("competing", "rivals", ...)


class Critiqued(Value):
    kind: Literal["critiqued"] = "critiqued"
    verdict: Literal["approve", "reject", "object", "unreviewed"]
    """`object` is a doubt that forbids nothing; `unreviewed` means that no model answered."""
    note: str
    tests: tuple[str, ...] = ()


class Proved(Proof):
    kind: Literal["proved"] = "proved"
    confidence: float | None = None
    """The probability that the patch is right, 0 to 1; `None` if nothing was changed."""
    unsure: str = ""  # the reason for a low confidence, worded to follow "because"
    features: Mapping[str, float] = Field(default_factory=dict)

    @property
    def has_no_competing_patch(self) -> bool:
        """Whether all tests, including held-out ones, refuted every other behaviour."""
        evidence = self.evidence
        return evidence is not None and not evidence.competing_patches and not evidence.inconclusive


class LessonLearned(Value):
    kind: Literal["lesson_learned"] = "lesson_learned"
    text: str
    category: str = ""
    stored_fix: bool = False


StepStatus = Literal["pending", "done", "failed", "replaced", "skipped", "refused"]

NOT_COMPLETED: tuple[StepStatus, ...] = ("failed", "skipped", "refused")
"""The statuses of steps that were not completed."""


class PlanStepped(Value):
    kind: Literal["plan_stepped"] = "plan_stepped"
    step: int
    what: str
    status: StepStatus
    report: str = ""


class ModelCall(Value):
    """The common fields of model call events: role, model and cost."""

    call: int
    role: str
    provider: str
    model: str
    tokens: int
    cost_usd: float | None  # None: unknown


class ModelAsked(ModelCall):
    """A model call starts; it is charged with its highest possible cost."""

    kind: Literal["model_asked"] = "model_asked"
    prompt: str = ""
    asked: tuple[tuple[str, str], ...] = ()
    """Speaker and text of each message, without API keys and with long texts shortened."""


class ModelCalled(ModelCall):
    """A model call was answered."""

    kind: Literal["model_called"] = "model_called"
    wall_s: float
    input: int = 0
    output: int = 0
    read: int = 0
    """Input tokens read from the provider's prompt cache."""
    estimated: bool = False
    """The token counts are estimates, because the provider reported none."""
    first_s: float | None = None
    """Seconds to the first part of the answer."""
    finish: Finish = "stop"
    attempts: int = 1
    cached: bool = False
    """The answer came from this run's log or a recording; no request was sent."""
    question: str = ""
    answer_id: str = renamed_field("answer_id", "said", "")
    """The store address of the full answer, which a repeated step reuses."""
    answer: str = ""


class ModelFailed(ModelCall):
    """A model call failed; its possible cost is charged all the same."""

    kind: Literal["model_failed"] = "model_failed"
    error: str
    why: str
    wall_s: float
    answer: str = ""


class FellBack(Value):
    """A fallback model that the user configured took over a role."""

    kind: Literal["fell_back"] = "fell_back"
    role: str
    provider: str
    to: str
    why: str


class Extended(Value):
    """A person raised the budget of the run."""

    kind: Literal["extended"] = "extended"
    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


class Notice(Value):
    """Information for the user: a fallback, a limit or advice."""

    kind: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"]
    text: str
    role: str = ""
    """The failed role that the run continues without; else empty."""
    again: int | None = None
    """The number of the call that is retried and counts once more; `None` for other notices."""


class Waiting(Value):
    """The run waits for a person; answer with `interrupt`."""

    kind: Literal["waiting"] = "waiting"
    interrupt: str
    question: str
    diff: str = ""
    competing: CompetingPatches | None = renamed_field("competing", "rivals", None)
    needs: Annotated[
        Literal["answer", "review", "permission", "help", "budget", "key", "visitor"],
        BeforeValidator(lambda value: "permission" if value == "leave" else value),  # of older runs
    ] = "answer"
    """The kind of input the run waits for."""
    code: str = ""
    """The text of the entry file under review."""
    tried: str = ""
    """A person's program that failed."""
    hint_refusal: str = renamed_field("hint_refusal", "unhinted", "")
    """Why a hint cannot be used; empty if a model reads it."""
    budget_extension: Extended | None = renamed_field("budget_extension", "more", None)
    """The offered budget at a limit; `None` if nothing is offered."""


class Answered(Value):
    kind: Literal["answered"] = "answered"
    interrupt: str
    answer: str


class Resumed(Value):
    """The run was resumed after its process had ended."""

    kind: Literal["resumed"] = "resumed"
    note: str


class RunFinished(Value):
    kind: Literal["run_finished"] = "run_finished"
    outcome: RunOutcome
    stopped: Stop | None = None
    proof: ProofLevel | None
    confidence: float | None = None
    unsure: str = ""
    fitting_repairs: int = renamed_field("fitting_repairs", "fitting", 1)
    """The number of different repairs that fit the tests, this one included."""
    strategy: Strategy | None
    edit: str = ""
    reason: str
    """Why the run ended with this outcome, without the edit."""
    diff: str
    code: str = ""
    solution: str = ""
    """The address of the final program, whose entry file is `code`; else empty."""
    stdout: str = ""
    iterations: int
    candidates: int
    tokens: int
    cost_usd: float | None
    seconds: float


class RunFailed(Value):
    """An internal error ended the run; the traceback is in the log of the process."""

    kind: Literal["run_failed"] = "run_failed"
    error: str


Event = Annotated[
    RunStarted | StepStarted | StepFinished | TestsFrozen | CodeWritten | Judged | Diagnosed
    | ToolCalled | Searched | Recalled | IterationEnded | TestRuled | PatchProposed | NotChosen
    | PartialFound | Ambiguous | Critiqued | Proved | LessonLearned | PlanStepped | ModelAsked
    | ModelCalled | ModelFailed | FellBack | Extended | Notice | Waiting | Answered | Resumed
    | RunFinished | RunFailed,
    Field(discriminator="kind"),
]

FINAL_KINDS = frozenset({"run_finished", "run_failed"})


class LogEntry(Value):
    """An event with its position in a run's log; `at` is in seconds since the epoch.
    `task` is the id of the step or session that wrote it; `attempt` counts the tries of a step."""

    run: str
    seq: int
    task: str
    attempt: int
    ordinal: int
    at: float
    event: Event

    @property
    def final(self) -> bool:
        return self.event.kind in FINAL_KINDS


def to_jsonl(log: Iterable[LogEntry]) -> str:
    """A run's log as JSON lines, which `from_jsonl` reads back."""
    return "".join(entry.to_json() + "\n" for entry in log)


def from_jsonl(text: str) -> tuple[LogEntry, ...]:
    """Reads a log written by `to_jsonl`; raises `ValueError` with the number of a bad line."""
    return tuple(_parsed(text))


def _parsed(text: str) -> Iterator[LogEntry]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield LogEntry.from_json(line)
            except ValueError as error:
                raise ValueError(f"line {number} is not an event of a run log: {error}") from error


def without_retries(log: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """The log without attempts of steps that a later attempt of the same step replaced."""
    entries = tuple(log)
    last: dict[str, int] = {}
    for entry in entries:
        last[entry.task] = max(entry.attempt, last.get(entry.task, 0))
    return tuple(entry for entry in entries if entry.attempt == last[entry.task])


def seconds_spent(log: Iterable[LogEntry]) -> float:
    """Wall seconds of a run, without the time it waited for a person or a process."""
    spent = 0.0
    before: LogEntry | None = None
    for entry in log:
        if before is not None and before.event.kind != "waiting" and entry.event.kind not in (
            "answered", "resumed"
        ):
            spent += entry.at - before.at
        before = entry
    return max(0.0, spent)
