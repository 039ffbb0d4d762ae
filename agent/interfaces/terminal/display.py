"""Shows a run at a terminal: messages on standard error, the patch on standard output. Untrusted
text passes `printable` first, so that it cannot control the terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Literal, Self, TextIO

from rich.console import Console
from rich.status import Status as Spinner
from rich.table import Table
from rich.text import Text

from agent.core.domain import (
    CompetingPatches,
    Diagnosis,
    Evidence,
    Report,
    RunOutcome,
    SuspectFile,
    Verdict,
    VerdictStatus,
    counted,
    passed_words,
)
from agent.core.events import (
    Diagnosed,
    Event,
    Judged,
    LessonLearned,
    PatchProposed,
    Proved,
    Recalled,
    RunStarted,
    Searched,
    Step,
    StepFinished,
    StepStarted,
    TestsFrozen,
)
from agent.core.settings import COMMAND
from agent.interfaces.next_step import next_steps
from agent.report.result import ACCEPTED, Result
from agent.report.words import (
    STATUS_SYMBOLS,
    ReportLine,
    Tone,
    best_words,
    doubt_words,
    ending_words,
    event_lines,
    headline,
    partial_words,
    search_words,
    step_metrics_words,
    step_words,
    verdict_words,
)
from agent.search.ranking.question import describe_behaviours

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Inspection

STYLES: dict[RunOutcome, str] = {
    "healthy": "bold green", "healed": "bold green", "proposed": "bold yellow",
    "crash_stopped": "bold yellow",
    "unresolved": "bold red", "not_fixable": "bold red", "budget": "bold red",
    "needs_model": "bold yellow", "model_failed": "bold red",
    "cancelled": "bold yellow", "awaiting_review": "bold yellow",
}
COMPETING_STYLE = "bold magenta"
"""The style of a repair that competes with other repairs."""

STATUS_STYLES: dict[VerdictStatus, str] = {
    "passed": "green", "failed": "red", "error": "red", "timeout": "yellow", "skipped": "cyan",
    "xfailed": "cyan", "xpassed": "cyan", "vacuous": "yellow", "not believed": "bold red",
    "excluded": "cyan",
}
TONE_STYLES: dict[Tone, str] = {"plain": "dim", "good": "green", "bad": "red", "warning": "yellow"}

DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))

MAX_SHOWN = 20  # tests
MAX_LINES = 5  # of a test's message
MAX_SUSPECTS = 4
SHOWN_CHARACTERS = 200  # of a value in a table


def printable(text: str) -> str:
    """Returns `text` with control characters escaped, except newline and tab."""
    return "".join(
        character if character in "\n\t" or character.isprintable() or character == " "
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


class Terminal:
    """Standard output and standard error of a command, as rich consoles."""

    def __init__(self, *, verbose: bool = False) -> None:
        make_writable(sys.stdout)
        self.verbose = verbose
        self.more = " (--verbose lists them)"
        """Hint on how to show omitted tests; empty in a notebook."""
        # With NO_COLOR alone, rich would still print bold text.
        colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        self.stdout = Console(highlight=False, soft_wrap=True, color_system=colours)
        self.messages = Console(stderr=True, highlight=False, soft_wrap=True, color_system=colours)

    def say(self, text: str, style: str = "") -> None:
        """Prints a message on standard error."""
        self.messages.print(Text(printable(text), style=style))

    def progress(self, *, terse: bool = False) -> Progress:
        """Returns a live view of events; a calm one shows only what needs attention."""
        return Progress(self, terse=terse and not self.verbose)

    def patch(self, diff: str) -> None:
        self._data(diff, coloured(diff))

    def program(self, code: str) -> None:
        self._data(code, Text(printable(code)))

    def _data(self, text: str, shown: Text) -> None:
        if self.stdout.is_terminal:
            self.stdout.print(shown, end="")
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    def result(self, result: Result, inspected: Inspection | None = None) -> None:
        """Shows a result without its patch; `inspected` is the project before the repair."""
        submitted = result.explained_result
        before = inspected.tree.files if inspected is not None else {}
        named = inspected.to_heal if inspected is not None else None
        unhealed = result.outcome in ("unresolved", "budget", "cancelled")
        self.messages.print(status_line(result))
        if result.reason:
            self.say(result.reason)
        for line in competing_words(result):
            self.say(line, COMPETING_STYLE)
        if result.waiting is not None:
            self.say(f"To answer, run: {COMMAND} resume {result.run_id}", "bold")
        for path, line_number in edits(before, result) if result.diff else ():
            self.say(f"edited: {path}, line {line_number}")
        if named is None or self.verbose or not unhealed:
            self.tests(submitted.shown_report, self.messages, named, result.integrity_reason)
        for line in evidence_words(submitted) if unhealed else ():
            self.say(line)
        self.best_attempt(result)
        for line in step_metrics_words(result) if self.verbose else ():
            self.say(line)
        for line in next_steps(result, inspected):
            self.say(line, "bold")

    def question(self, patches: CompetingPatches) -> None:
        for one in patches.behaviours:
            self.say(f"{one.label}: {one.note or 'another repair'}", "bold")
            self.messages.print(coloured(one.diff), end="")

    def tests(
        self, report: Report | None, console: Console, named: Sequence[str] | None = None,
        reason: str = "",
    ) -> None:
        """Shows the verdicts, or how the program ended. For a project, only failing or `named`
        tests are shown. An integrity reason equal to `reason` is not repeated."""
        if report is None:
            return
        # Adversarial tests decide nothing; the proof says what they showed.
        quiet = [one for one in report.verdicts if one.origin == "adversarial" and not self.verbose]
        rows = [one for one in report.verdicts if one not in quiet]
        if named is not None and not self.verbose:
            rows = [one for one in rows if one.fails or one.name in named][:MAX_SHOWN]
        reason_is_shown = all(one.reason == reason for one in rows if one.passed)
        for one in rows:
            shown = one.model_copy(update={"integrity": None}) if reason_is_shown else one
            self.verdict(shown, console, brief=named is not None)
        if quiet:
            returned = sum(verdict.passed for verdict in quiet)
            console.print(
                f"and {passed_words(returned, len(quiet), 'adversarial test')}; these do "
                f"not affect the result{self.more}"
            )
        if (rest := len(report.verdicts) - len(rows) - len(quiet)) and rows:
            console.print(f"  and {counted(rest, 'other test')}{self.more}")
        if not report.verdicts and report.ending is not None:
            words = shorten(ending_words(report.ending))
            console.print(Text(printable(f"No tests. {sentence(words)}.")))

    def verdict(self, one: Verdict, console: Console, *, brief: bool = False) -> None:
        """Shows the verdict of a test; `brief` shortens one that passed."""
        ascii_only = not console.encoding.lower().startswith("utf")
        words = verdict_line(one, ascii_only=ascii_only)
        if brief and one.evidence_status == "passed":
            words = words.partition("\n")[0]
        console.print(Text(printable(words), style=STATUS_STYLES[one.evidence_status]))

    def checked(self, result: Result, named: Sequence[str] | None = None) -> None:
        """Shows the verdicts on standard output, and their summary."""
        self.tests(result.report, self.stdout, named, result.integrity_reason)
        if result.reason:
            self.say(result.reason)
        verdicts = result.report.verdicts if result.report is not None else ()
        if result.outcome != "healthy":
            summary = "NOT ALL PASS"
        elif not verdicts:
            summary = "NO TEST RAN"
        else:
            passes = named is not None or all(one.is_evidence for one in verdicts)
            summary = "ALL PASS" if passes else "NOTHING FAILS"
        proof = f"proof {shorten(result.claim)}" if result.claim else ""
        self.say(" · ".join(filter(None, (summary, proof))), "bold")

    def best_attempt(self, result: Result) -> None:
        """Shows the best patch and program of a run without a repair."""
        if result.outcome in ACCEPTED:
            return
        if result.partial is not None and not (result.best is not None and result.from_description):
            self.say(sentence(partial_words(result.partial)), "bold yellow")
            self.messages.print(coloured(result.partial.diff), end="")
        for one in result.low_confidence[1:]:
            self.say(f"Another unlikely patch: {one.note or 'no description'}", "bold yellow")
            self.messages.print(coloured(one.diff), end="")
        if result.best is not None:
            self.say(best_words(result), "bold yellow")


STRONG = ("L3", "L4")
SHOWN_BY_RESULT = (
    RunStarted, TestsFrozen, Judged, Diagnosed, Searched, Recalled, PatchProposed, LessonLearned,
)
"""Events whose content the result shows."""
LONG_STEPS = ("recall", "repair", "attempt", "prove")
"""Steps whose start is shown where there is no spinner."""


class Progress:
    """Shows events as they arrive: as lines, and on a terminal also a spinner with the step."""

    def __init__(self, terminal: Terminal, *, terse: bool = False) -> None:
        self._terminal = terminal
        self._terse = terse
        self._spinner: Spinner | None = None
        self._report: Report | None = None
        self._start: RunStarted | None = None

    def __enter__(self) -> Self:
        if self._terminal.messages.is_terminal:
            self._spinner = self._terminal.messages.status("starting")
            self._spinner.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._spinner is not None:
            self._spinner.stop()

    def show(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._start = event
        if isinstance(event, StepStarted):
            self._show_step(event.step)
        elif self._spinner is not None and isinstance(event, Searched):
            self._spinner.update(printable(search_words(event)))
        verbose = self._terminal.verbose
        for line in shown_lines(event, self._report, self._start, verbose=verbose):
            if not (self._terse and isinstance(event, SHOWN_BY_RESULT)):
                self._terminal.say(" ".join(line.text.split("\n")), TONE_STYLES[line.tone])
        if self._terse and isinstance(event, RunStarted) and event.level not in STRONG:
            self._terminal.say(f"sandbox: {event.sandbox}", "yellow")
        if isinstance(event, Judged):
            self._report = event.report

    def _show_step(self, step: Step) -> None:
        words = step_words(step, self._start)
        if self._spinner is not None:
            self._spinner.update(words)
        elif self._terse and step in LONG_STEPS:
            self._terminal.say(f"{words} …", "dim")


def shown_lines(
    event: Event, judged: Report | None = None, start: RunStarted | None = None, *,
    verbose: bool = False,
) -> list[ReportLine]:
    """Returns the lines of an event; `verbose` adds details of steps, suspects and evidence."""
    lines = [line for line in event_lines(event, judged) if verbose or not line.detail]
    if not verbose:
        return lines
    match event:
        case StepStarted():
            more = [f"{step_words(event.step, start)} …"]
        case StepFinished():
            more = [f"{step_words(event.step, start)}: {event.wall_ms:.0f} ms"]
        case Diagnosed():
            more = suspicious_words(event.diagnosis)
        case Proved():
            more = proof_words(event.evidence)
        case _:
            more = []
    return [*lines, *(ReportLine(f"  {words}") for words in more)]


def status_line(result: Result) -> Text:
    """Returns the outcome of a run in its colour, followed by the main facts."""
    word, facts = headline(result)
    style = STYLES[result.outcome] if result.outcome is not None else "bold yellow"
    if result.phase == "failed":
        style = "bold red"
    elif result.phase == "running":
        word = "NOT FINISHED"  # this process does not continue it
    elif result.fitting_repairs > 1:
        style = COMPETING_STYLE
    elif result.unmet:
        style = "bold yellow"
    shown = "".join(f" · {printable(shorten(fact))}" for fact in facts)
    return Text.assemble((word, style), shown)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        shown.add_column(name, overflow="fold", no_wrap=name in ("id", "run", "proof", "age"))
    for row in rows:
        shown.add_row(*(Text(printable(shorten(text))) for text in row))
    return shown


def age(created: float) -> str:
    """Returns the time since a timestamp, such as `3 days ago`."""
    seconds = max(0.0, time.time() - created)
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), name)} ago"
    return "just now"


def verdict_line(one: Verdict, *, ascii_only: bool = False) -> str:
    """Returns a test with its status and origin, and below it the details."""
    glyph, plain, _ = STATUS_SYMBOLS[one.evidence_status]
    origin = "" if one.origin == "user" else f" ({one.origin})"
    first = f"  {plain if ascii_only else glyph} {one.evidence_status} {shorten(one.name)}{origin}"
    return "\n".join([first, *detail_lines(one)])


def detail_lines(one: Verdict) -> list[str]:
    """Returns expected and actual value of a failing test, and doubts about a passing one."""
    lines = []
    if not (one.passed or one.disbelieved or one.excluded):
        if one.expected and one.got:
            lines.append(f"    {shorten(f'expected {one.expected}, got {one.got}')}")
        else:
            lines += message_lines(one.message or one.got)
    return [*lines, *(f"    {shorten(words)}" for words in verdict_words(one))]


def message_lines(message: str) -> list[str]:
    """Returns the first lines of a test's message, indented and shortened."""
    lines = [line.rstrip() for line in message.strip().split("\n") if line.strip()]
    if "Expected:" in lines:  # a doctest: start at the example
        lines = lines[max(0, lines.index("Expected:") - 1) :]
    more = len(lines) - MAX_LINES
    left = [f"    … {counted(more, 'more line')}"] if more > 0 else []
    return [f"    {shorten(line)}" for line in lines[:MAX_LINES]] + left


def edits(before: Mapping[str, str], result: Result) -> list[tuple[str, int]]:
    """Returns each changed file with its first changed line."""
    found = []
    for path, text in sorted(result.files):
        if path in before and text != before[path]:
            pairs = zip(text.split("\n"), before[path].split("\n"), strict=False)
            shorter = min(text.count("\n"), before[path].count("\n"))
            same = next((at for at, (new, old) in enumerate(pairs) if new != old), shorter)
            found.append((path, 1 + same))
    return found


def competing_words(result: Result) -> Iterator[str]:
    """Yields lines about competing patches: repairs that also pass all tests."""
    rivals = result.competing
    if rivals is None or result.outcome not in ("healed", "proposed"):
        return
    if not rivals.call:
        yield "Several repairs pass the suite. The patch is A. Add a test that decides:"
    else:
        shown = len(rivals.behaviours)
        of_them = f" ({shown} are shown)" if shown < result.fitting_repairs else ""
        yield (
            f"Repairs with {result.fitting_repairs} different behaviours pass your tests{of_them}: "
            f"{shorten(describe_behaviours(rivals))}. The patch is A. Add a test that decides"
            f"{', or run again with --ask' if result.asks_next else ''}."
        )
    for one in rivals.behaviours:
        note = shorten(one.note) or ("the patch shown" if one.label == "A" else "another repair")
        yield f"  {one.label}: {note}"


def evidence_words(result: Result) -> Iterator[str]:
    """Yields the smallest failing test and the suspicious files or lines."""
    failure = result.smallest_failure
    if failure is not None:
        yield f"Smallest failing {'call' if failure.call else 'test'}: " \
            f"{shorten(failure.call or failure.name)}"
        if failure.call:
            yield f"  expected  {shorten(failure.expected) or '(no error)'}"
            yield f"  got       {shorten(failure.got or failure.message) or '(nothing)'}"
        else:
            yield from message_lines(failure.message or failure.got or failure.status)
    if result.suspects:
        yield "Suspicious files, the likeliest first"
        for one in result.suspects[:MAX_SUSPECTS]:
            yield from _suspect_lines(one)
    elif result.diagnosis is not None and result.diagnosis.suspicious_lines:
        yield "Suspicious lines, the likeliest first"
        for line in suspicious_words(result.diagnosis):
            yield f"  {line}"


def _suspect_lines(one: SuspectFile) -> Iterator[str]:
    yield f"  {suspect_words(one)}"
    if one.values:
        values = ", ".join(f"{name} = {shorten(value)}" for name, value in one.values)
        at = f" in line {one.line}" if one.line is not None else ""
        yield f"    values at the failure{at}: {values}"


def suspect_words(one: SuspectFile) -> str:
    """Returns a file with its most suspicious functions."""
    functions = ", ".join(
        f"{function.name} (line {function.line})" for function in one.functions[:3]
    )
    return f"{one.file}{f': {functions}' if functions else ''}"


def proof_words(evidence: Evidence | None) -> list[str]:
    """Returns the evidence for or against a proof above E2, a line each."""
    if evidence is None:
        return []
    equivalent = evidence.equivalent
    return [
        *doubt_words(evidence),
        *([f"patch variants tried: {evidence.variants_tried}"] if evidence.variants_tried else []),
        *([f"mutations without effect, left out: {equivalent}"] if equivalent else []),
    ]


def suspicious_words(diagnosis: Diagnosis) -> list[str]:
    """Returns the suspicious lines, each with the values of its variables."""
    lines = []
    for one in diagnosis.suspicious_lines:
        lines.append(f"line {one.line}: {one.text.strip()}")
        if one.values:
            values = ", ".join(f"{name} = {shorten(value)}" for name, value in one.values)
            lines.append(f"  with {values}")
    return lines


def coloured(diff: str) -> Text:
    text = Text()
    for line in printable(diff).splitlines(keepends=True):
        style = next((style for start, style in DIFF_STYLES if line.startswith(start)), "")
        text.append(line, style=style)
    return text


def shorten(text: str) -> str:
    """Returns `text` in one line, shortened to `SHOWN_CHARACTERS`."""
    line = text.replace("\n", "\\n")
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def sentence(words: str) -> str:
    """Returns the words with a capital first letter."""
    return words[:1].upper() + words[1:]


def make_writable(stream: TextIO) -> None:
    """Makes a stream accept any text: as UTF-8 in a pipe, with escapes on a terminal."""
    if isinstance(stream, TextIOWrapper):
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="surrogatepass")
