"""A run shown to a person at a terminal: talk on standard error, the patch on standard output.

Whatever untrusted code wrote passes `printable` first, so that it cannot move the cursor,
recolour or retitle the terminal.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from io import TextIOWrapper
from types import TracebackType
from typing import Literal, Self, TextIO

from rich.console import Console
from rich.status import Status as Spinner
from rich.table import Table
from rich.text import Text

from agent.domain import (
    OUTCOME_WORDS,
    PROOF_MEANING,
    Diagnosis,
    Ending,
    Evidence,
    Report,
    Rivals,
    RunOutcome,
    Standing,
    Verdict,
    claim,
    tally,
)
from agent.events import (
    Answered,
    CodeWritten,
    Critiqued,
    Diagnosed,
    Event,
    Extended,
    FellBack,
    Judged,
    LessonLearned,
    ModelCalled,
    ModelFailed,
    Notice,
    PatchProposed,
    Proved,
    Recalled,
    Resumed,
    RunStarted,
    Searched,
    StepFinished,
    StepStarted,
    TestsFrozen,
    Waiting,
)
from agent.repair.question import in_words
from agent.result import Result
from agent.spending import call_words, dollars

STYLES: dict[RunOutcome, str] = {
    "healthy": "bold green", "healed": "bold green", "crash_stopped": "bold yellow",
    "unresolved": "bold red", "not_fixable": "bold red", "budget": "bold red",
    "cancelled": "bold yellow",
}
"""How each outcome is printed."""
OPEN_STYLE = "bold magenta"
"""That of a repair beside which others are known to fit."""

ADVICE: dict[RunOutcome, str] = {
    "healthy": "",
    "healed": "",
    "crash_stopped": "This stops the crash; nothing shows that the result is right: add a test "
    "(--tests or --tests-file).",
    "unresolved": "Next: look at the suspected lines, or add a smaller failing test; run again.",
    "not_fixable": "Next: no edit of the program can help; do what the reason says and run again.",
    "budget": "Next: give a smaller test, or a larger budget, and run again.",
    "cancelled": "Nothing was written.",
}
"""The next step for a person, by outcome."""

DISBELIEVED = (
    "Next: no answer was seen to be wrong; take out of the program what acts on its tests, which "
    "stands beside them, and run again."
)
"""The next step where each failure is a pass that is not believed."""

MODELS_HELP = (
    "A model may find what the search did not: `python -m agent plan` says who would answer."
)


def next_step(result: Result) -> str:
    """What a person can do next; empty where nothing is left to do."""
    if result.outcome is None:
        return ""
    if result.unanswered and result.outcome in ("unresolved", "not_fixable"):
        return (
            f"Next: a model gave no answer: {result.unanswered.rstrip('.')}. "
            "`python -m agent plan --test` tests providers and keys, and spends nothing."
        )
    failing = [one for one in result.report.verdicts if one.fails] if result.report else []
    if result.outcome == "unresolved" and failing and all(one.doubt for one in failing):
        return DISBELIEVED
    if result.outcome == "unresolved" and result.provider == "mock":
        return f"{ADVICE[result.outcome]} {MODELS_HELP}"
    return ADVICE[result.outcome]


GLYPHS: dict[Standing, tuple[str, str, str]] = {
    "passed": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "error": ("!", "!", "red"),
    "timeout": ("⏱", "t", "yellow"),
    "skipped": ("↷", "-", "cyan"),
    "xfailed": ("⊖", "f", "cyan"),
    "xpassed": ("⊕", "p", "cyan"),
    "vacuous": ("∅", "0", "yellow"),
    "not believed": ("?", "?", "bold red"),
    "set aside": ("⊘", "a", "cyan"),
}
"""What a verdict comes to as a glyph, as ASCII, and its style; the word always stands beside."""

DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))

SHOWN_CHARACTERS = 200
"""Values longer than this are cut in the table."""

NO_MODEL = "No model: memory and search only"


def printable(text: str) -> str:
    """`text` with every control character but newline and tab written as an escape."""
    return "".join(
        character if character in "\n\t" or character.isprintable() or character == " "
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


class Terminal:
    """The two streams of a command, as rich consoles."""

    def __init__(self, *, verbose: bool = False) -> None:
        make_writable(sys.stdout)
        self.verbose = verbose
        # rich alone would keep bold text where no colour is wanted; plain means plain.
        colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        self.out = Console(highlight=False, soft_wrap=True, color_system=colours)
        self.talk = Console(stderr=True, highlight=False, soft_wrap=True, color_system=colours)

    def say(self, text: str, style: str = "") -> None:
        """One line of talk on standard error."""
        self.talk.print(Text(printable(text), style=style))

    def progress(self) -> Progress:
        """A live view of a run's events."""
        return Progress(self)

    def patch(self, diff: str) -> None:
        """The patch on standard output: coloured for a person, byte for byte for a program."""
        if self.out.is_terminal:
            self.out.print(coloured(diff), end="")
        else:
            sys.stdout.write(diff)
            sys.stdout.flush()

    def program(self, code: str) -> None:
        """A program on standard output."""
        if self.out.is_terminal:
            self.out.print(Text(printable(code)), end="")
        else:
            sys.stdout.write(code)
            sys.stdout.flush()

    def result(self, result: Result) -> None:
        """All that was found out, except the patch of a run that has one."""
        self.talk.print(headline(result))
        if result.rivals is not None and result.outcome == "healed":
            self._rivals(result.rivals)
        if result.reason:
            self.say(result.reason)
        if result.error:
            self.say(f"The run ended by a fault of ours: {result.error}", "bold red")
        if result.waiting is not None:
            self.say(f"It waits for an answer: {result.waiting.question}")
            self.say(f"Answer at a terminal: python -m agent resume {result.run_id}", "bold")
        self.tests(result.report, self.talk)
        if result.outcome in ("unresolved", "budget", "cancelled"):
            self._evidence(result)
        if result.outcome and next_step(result):
            self.say(next_step(result), "bold")

    def question(self, rivals: Rivals) -> None:
        """The behaviours to choose from, each with its patch."""
        for one in rivals.behaviours:
            self.say(f"{one.label}: {one.note or 'another repair'}", "bold")
            self.talk.print(coloured(one.diff), end="")

    def _rivals(self, rivals: Rivals) -> None:
        self.say(
            f"Which is right? {len(rivals.behaviours)} behaviours fit your tests: "
            f"{cut(in_words(rivals))}. The patch is A; add a test, or run again with --ask.",
            OPEN_STYLE,
        )

    def tests(self, report: Report | None, console: Console) -> None:
        """The verdicts as a table, or how the program ended when there are none."""
        if report is None:
            return
        if report.verdicts:
            # Our own probes are news only where one fails; --verbose lists them all.
            quiet = [] if self.verbose else [
                verdict for verdict in report.verdicts
                if verdict.passed and verdict.origin == "adversarial"
            ]
            rows = [verdict for verdict in report.verdicts if verdict not in quiet]
            if rows:
                console.print(verdict_table(rows, ascii_only=_ascii(console)))
            if quiet:
                console.print(f"and {_count(len(quiet), 'adversarial test')} passed")
        elif report.ending is not None:
            console.print(Text(printable(f"No tests. The program {ending_words(report)}.")))

    def checked(self, result: Result) -> None:
        """The verdicts on standard output, and what they come to."""
        self.tests(result.report, self.out)
        if result.reason:
            self.say(result.reason)
        verdicts = result.report.verdicts if result.report is not None else ()
        if result.outcome != "healthy":
            said = "NOT ALL PASS"
        else:
            said = "ALL PASS" if all(one.shows for one in verdicts) else "NOTHING FAILS"
        proof = f"proof {cut(result.claim)}" if result.claim else ""
        self.say(" · ".join(filter(None, (said, proof))), "bold")

    def _evidence(self, result: Result) -> None:
        failure = result.smallest_failure
        if failure is not None:
            self.say("Smallest failing call", "bold")
            self.say(f"  {cut(failure.call or failure.name)}")
            self.say(f"  expected  {cut(failure.expected) or '(a pass)'}")
            self.say(f"  got       {cut(failure.got or failure.message) or '(nothing)'}")
        if result.diagnosis is not None and result.diagnosis.blamed:
            self.say("Suspected lines", "bold")
            for line in blamed_words(result.diagnosis):
                self.say(f"  {line}")
        if result.partial is not None:
            partial = result.partial
            note = partial.note.removeprefix("not a fix: ")
            self.say(
                f"Best partial patch, not a fix: {partial.passed} of {partial.total} tests pass "
                f"with it. {note}".rstrip(), "bold yellow",
            )
            self.talk.print(coloured(partial.diff), end="")


class Progress:
    """Shows events as they come: lines that stay, and on a terminal a spinner with the step."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._spinner: Spinner | None = None
        self._report: Report | None = None

    def __enter__(self) -> Self:
        if self._terminal.talk.is_terminal:
            self._spinner = self._terminal.talk.status("starting")
            self._spinner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._spinner is not None:
            self._spinner.stop()

    def show(self, event: Event) -> None:
        """Shows one event."""
        if self._spinner is not None:
            if isinstance(event, StepStarted):
                self._spinner.update(event.step)
            elif isinstance(event, Searched):
                self._spinner.update(search_words(event))
        if isinstance(event, Judged):
            self._report = event.report
        details = detail_words(event, self._report) if self._terminal.verbose else ""
        for words in filter(None, (event_words(event), details)):
            self._terminal.say(words, _event_style(event))


def headline(result: Result) -> Text:
    """The status line: outcome, proof and integrity, their meaning, by what, at what price."""
    if result.outcome is None:
        name, style = ("NOT FINISHED", "bold yellow")
    else:
        name, style = OUTCOME_WORDS[result.outcome], STYLES[result.outcome]
    if result.fitting > 1:
        name, style = (f"one of {result.fitting} repairs that fit your tests", OPEN_STYLE)
    parts = []
    if result.proof is not None and result.outcome in ("healthy", "healed", "crash_stopped"):
        parts += [f"proof {printable(cut(result.claim))}", PROOF_MEANING[result.proof]]
    if result.strategy == "memory" and result.tokens == 0:
        parts.append("from memory, no model, $0.00")
    else:
        parts += [f"by {result.strategy}"] if result.strategy is not None else []
        parts.append(cost_words(result))
    parts.append(_count(result.iterations, "iteration"))
    if result.candidates:
        parts.append(_count(result.candidates, "candidate"))
    parts.append(f"{result.seconds:.1f} s")
    return Text.assemble((name, style), " · ", " · ".join(parts))


def cost_words(result: Result) -> str:
    """What the run cost, in words."""
    if result.tokens == 0:
        return "no tokens, $0.00"
    return f"{result.tokens:,} tokens, {dollars(result.cost_usd)}"


def verdict_table(verdicts: Sequence[Verdict], *, ascii_only: bool = False) -> Table:
    """One row a test: what it came to in glyph and word, what it is, and what was seen."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("status", no_wrap=True)
    table.add_column("test", overflow="fold")
    table.add_column("origin", no_wrap=True)
    table.add_column("what was seen", overflow="fold")
    for verdict in verdicts:
        glyph, plain, style = GLYPHS[verdict.standing]
        table.add_row(
            Text(f"{plain if ascii_only else glyph} {verdict.standing}", style=style),
            Text(printable(cut(verdict.name))),
            Text(verdict.origin),
            Text(printable(seen_words(verdict))),
        )
    return table


def seen_words(verdict: Verdict) -> str:
    """Got and expected of a failing test; of a passing one only what limits its worth."""
    parts = []
    if verdict.doubt:
        came_out = "passes" if verdict.status == "passed" else verdict.status
        return f"{came_out}, not believed: {cut(verdict.doubt)}"
    if verdict.aside:
        return f"{verdict.status}, but not the program's: {cut(verdict.aside)}"
    if not verdict.passed:
        if verdict.expected and verdict.got:
            parts.append(f"expected {cut(verdict.expected)}, got {cut(verdict.got)}")
        elif verdict.message or verdict.got:
            parts.append(cut(verdict.message or verdict.got))
    if verdict.type_differs:
        parts.append("equal, but of another type")
    if verdict.vacuous:
        parts.append("passes whatever the program answers: no evidence")
    if verdict.passed and verdict.integrity not in (None, "outside"):
        parts.append(f"{verdict.integrity}: {cut(verdict.reason)}".rstrip(": "))
    return "; ".join(parts)


def ending_words(report: Report) -> str:
    """How the program ended as a script, and what the jail refused it."""
    ending = report.ending
    assert ending is not None
    return "; ".join([_end_words(ending), *ending.refused])


def _end_words(ending: Ending) -> str:
    match ending.kind:
        case "completed":
            return "ran to its end"
        case "exited":
            return f"ended itself with exit code {ending.exit_code}{cut(ending.said)}"
        case "raised":
            place = f" at line {ending.line}" if ending.line else ""
            return f"raised {ending.exception}{place}{cut(ending.said)}"
        case "timeout":
            return f"did not end in time ({ending.limit or 'deadline'})"
        case "killed":
            return f"was stopped by a limit ({ending.limit or 'signal'})"


def event_words(event: Event) -> str:
    """The line an event leaves in the ordinary view; empty for what only a reader of every
    detail wants."""
    match event:
        case RunStarted():
            plan = plan_words(event.provider, event.provider_why)
            return f"{plan}\nsandbox: {event.sandbox}" if event.sandbox else plan
        case ModelCalled():
            return f"  {call_words(event)}"
        case ModelFailed():
            return f"  {event.role}: no answer from {event.provider}/{event.model}: {event.why}"
        case FellBack():
            return f"  {event.role}: {event.to} answers, not {event.provider}: {event.why}"
        case Extended():
            return "the caps were raised"
        case TestsFrozen():
            origins = Counter(test.origin for test in event.tests)
            named = ", ".join(f"{count} {origin}" for origin, count in origins.items())
            return f"{_count(len(event.tests), 'test')}: {named}"
        case Judged():
            return f"iteration {event.iteration}: {report_words(event.report)}"
        case Recalled():
            return "\n".join([
                f"memory: {event.note.removeprefix('from memory: ')}",
                *(f"seen before: {one}" for one in event.lessons)
            ])
        case Diagnosed():
            return f"diagnosis: {event.diagnosis.cause}"
        case Searched(cut_after=float()):
            return search_words(event)
        case PatchProposed():
            return f"patch by {event.strategy}: {event.note}"
        case LessonLearned():
            return f"learned: {event.text}"
        case Notice():
            return event.text if event.level == "info" else f"{event.level}: {event.text}"
        case Waiting():
            return f"waits for an answer: {event.question}"
        case Resumed():
            return f"taken up again: {event.note}"
        case _:
            return ""


def detail_words(event: Event, report: Report | None = None) -> str:
    """The line of an event that only `--verbose` shows; `report` is the last one before it."""
    match event:
        case StepStarted():
            return f"  {event.step} …"
        case StepFinished():
            return f"  {event.step} took {event.wall_ms:.0f} ms"
        case CodeWritten():
            solution = event.solution
            return f"  code by {solution.origin} {solution.id}: {solution.note}".rstrip(": ")
        case Diagnosed():
            return "\n".join(f"  {line}" for line in blamed_words(event.diagnosis))
        case Searched(cut_after=None):
            return f"  {search_words(event)}"
        case Critiqued():
            return f"  critic: {event.verdict}. {event.note}"
        case Proved():
            said = claim(event.level, report.integrity if report is not None else None)
            told = f"  proof {said}: {event.why}"
            return "\n".join([told, *evidence_words(event.evidence)])
        case Answered():
            return f"  answered: {event.answer}"
        case _:
            return ""


def evidence_words(seen: Evidence | None) -> list[str]:
    """What proof above E2 was looked for in, a line for each thing that speaks against it."""
    if seen is None:
        return []
    return [
        *(f"    fails where it gave a value before: {call}" for call in seen.new_failures),
        *(f"    answered otherwise among other calls: {call}" for call in seen.wavering),
        *(f"    no test takes both sides of: {condition}" for condition in seen.unwatched),
        *(f"    doubtful: {doubt}" for doubt in seen.doubts),
        *(f"    no test notices: {note}" for note in seen.survivors),
        *(f"    went otherwise in a re-run: {name}" for name in seen.disagreeing),
        *([f"    siblings of the repair tried: {seen.siblings}"] if seen.siblings else []),
        *([f"    equivalent mutants left out: {seen.equivalent}"] if seen.equivalent else []),
    ]


def plan_words(provider: str, why: str) -> str:
    """Who answers and why; that there is no model is always said first."""
    if provider != "mock":
        return f"{provider}: {why}"
    if why.lower().startswith(NO_MODEL.lower()):
        return NO_MODEL + why[len(NO_MODEL):]
    return f"{NO_MODEL} ({why})" if why else NO_MODEL


def search_words(event: Searched) -> str:
    """A search's progress in one line."""
    cut = event.cut_after
    over = "" if cut is None else f"; its time was over after {cut:.1f} s of work"
    return (
        f"search: {_count(event.candidates, 'candidate')}, {event.plausible} plausible, "
        f"best passes {event.best_passed} of {event.total}{over}"
    )


def blamed_words(diagnosis: Diagnosis) -> list[str]:
    """The suspected lines, each with what its variables held."""
    lines = []
    for blamed in diagnosis.blamed:
        lines.append(f"line {blamed.line} ({blamed.suspicion:.2f}): {blamed.text.strip()}")
        if blamed.values:
            values = ", ".join(f"{name} = {cut(value)}" for name, value in blamed.values)
            lines.append(f"  with {values}")
    return lines


def report_words(report: Report) -> str:
    """A report in one line."""
    if report.verdicts:
        return tally(report.verdicts, "test" if len(report.verdicts) == 1 else "tests")
    return f"no tests; the program {ending_words(report)}" if report.ending else "no tests"


def coloured(diff: str) -> Text:
    """A unified diff with its lines styled."""
    text = Text()
    for line in printable(diff).splitlines(keepends=True):
        style = next((style for start, style in DIFF_STYLES if line.startswith(start)), "")
        text.append(line, style=style)
    return text


def cut(text: str) -> str:
    """`text` in one line, shortened where it is too long to be read in a table."""
    line = text.replace("\n", "\\n")
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def make_writable(stream: TextIO) -> None:
    """Makes a stream take any text: a patch goes out as UTF-8 whatever the locale, and on a
    terminal what cannot be shown becomes an escape instead of an error."""
    if isinstance(stream, TextIOWrapper):
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="surrogatepass")


def _event_style(event: Event) -> str:
    if isinstance(event, Notice):
        return {"info": "", "warning": "yellow", "error": "bold red"}[event.level]
    return "dim"


def _ascii(console: Console) -> bool:
    return not console.encoding.lower().startswith("utf")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
