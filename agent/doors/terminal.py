"""A run shown to a person at a terminal: talk on standard error, the patch on standard output.

Whatever untrusted code wrote passes `printable` first, so that it cannot move the cursor,
recolour or retitle the terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Literal, Self, TextIO

from rich.console import Console
from rich.status import Status as Spinner
from rich.table import Table
from rich.text import Text

from agent.core.domain import (
    Diagnosis,
    Evidence,
    Report,
    Rivals,
    RunOutcome,
    Standing,
    Verdict,
    counted,
    passing,
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
from agent.doors.next_step import TERMINAL, next_step
from agent.log.result import KEPT, Result
from agent.log.words import (
    STANDING_SIGNS,
    Line,
    Tone,
    best_words,
    doubt_words,
    ending_words,
    event_lines,
    headline,
    node_words,
    partial_words,
    search_words,
    step_words,
    verdict_words,
)
from agent.repair.ranking.question import in_words

STYLES: dict[RunOutcome, str] = {
    "healthy": "bold green", "healed": "bold green", "proposed": "bold yellow",
    "crash_stopped": "bold yellow",
    "unresolved": "bold red", "not_fixable": "bold red", "budget": "bold red",
    "needs_model": "bold yellow", "model_failed": "bold red",
    "cancelled": "bold yellow", "awaiting_review": "bold yellow",
}
"""How each outcome is printed."""
OPEN_STYLE = "bold magenta"
"""That of a repair beside which others are known to fit."""

STANDING_STYLES: dict[Standing, str] = {
    "passed": "green", "failed": "red", "error": "red", "timeout": "yellow", "skipped": "cyan",
    "xfailed": "cyan", "xpassed": "cyan", "vacuous": "yellow", "not believed": "bold red",
    "set aside": "cyan",
}
"""How what a verdict comes to is printed; its sign and the word always stand there too."""
TONE_STYLES: dict[Tone, str] = {"plain": "dim", "good": "green", "bad": "red", "warning": "yellow"}

DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))

SHOWN_CHARACTERS = 200
"""Values longer than this are cut in the table."""


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

    def progress(self, *, calm: bool = False) -> Progress:
        """A live view of a run's events; a calm one leaves lines of what asks for attention
        alone, as the result tells the rest."""
        return Progress(self, calm=calm and not self.verbose)

    def patch(self, diff: str) -> None:
        """The patch on standard output, coloured for a person."""
        self._data(diff, coloured(diff))

    def program(self, code: str) -> None:
        """A program on standard output."""
        self._data(code, Text(printable(code)))

    def _data(self, text: str, shown: Text) -> None:
        """On a terminal what a person is shown; for a program the text, byte for byte."""
        if self.out.is_terminal:
            self.out.print(shown, end="")
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    def result(self, result: Result) -> None:
        """All that was found out, except the patch of a run that has one."""
        self.talk.print(status_line(result))
        if result.rivals is not None and result.outcome in ("healed", "proposed"):
            self._rivals(result.rivals, result.fitting)
        if result.reason:
            self.say(result.reason)
        if result.waiting is not None:
            self.say(f"Answer at a terminal: {COMMAND} resume {result.run_id}", "bold")
        own = result.of_submitted
        self.tests(own.shown_report, self.talk)
        if result.outcome in ("unresolved", "budget", "cancelled"):
            self._evidence(own)
        self.not_kept(result)
        for line in node_words(result) if self.verbose else ():
            self.say(line)
        step = next_step(result, TERMINAL)
        if step and result.outcome != "proposed" and step.rstrip(".") not in result.reason:
            self.say(f"Next: {step}", "bold")

    def question(self, rivals: Rivals) -> None:
        """The behaviours to choose from, each with its patch."""
        for one in rivals.behaviours:
            self.say(f"{one.label}: {one.note or 'another repair'}", "bold")
            self.talk.print(coloured(one.diff), end="")

    def _rivals(self, rivals: Rivals, fitting: int) -> None:
        step = "add a test, or run again with --ask" if rivals.call else "add a test"
        shown = len(rivals.behaviours)
        of_them = f", {shown} of them here" if shown < fitting else ""
        self.say(
            f"Which is right? {fitting} behaviours fit your tests{of_them}: "
            f"{cut(in_words(rivals))}. The patch is A; {step}.",
            OPEN_STYLE,
        )

    def tests(self, report: Report | None, console: Console) -> None:
        """The verdicts as a table, or how the program ended when there are none."""
        if report is None:
            return
        if report.verdicts:
            # Our own probes decide nothing, and what they show stands in the proof.
            quiet = [] if self.verbose else [
                verdict for verdict in report.verdicts if verdict.origin == "adversarial"
            ]
            rows = [verdict for verdict in report.verdicts if verdict not in quiet]
            if rows:
                console.print(verdict_table(rows, ascii_only=_ascii(console)))
            if quiet:
                returned = sum(verdict.passed for verdict in quiet)
                console.print(
                    f"and {passing(returned, len(quiet), 'adversarial test')}, none of which "
                    "decides (--verbose lists them)"
                )
        elif report.ending is not None:
            words = cut(ending_words(report.ending))
            console.print(Text(printable(f"No tests. {sentence(words)}.")))

    def checked(self, result: Result) -> None:
        """The verdicts on standard output, and what they come to."""
        self.tests(result.report, self.out)
        if result.reason:
            self.say(result.reason)
        verdicts = result.report.verdicts if result.report is not None else ()
        if result.outcome != "healthy":
            said = "NOT ALL PASS"
        elif not verdicts:
            said = "NO TEST RAN"
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

    def not_kept(self, result: Result) -> None:
        """The best patch and the best program of a run that keeps none; a program that was written
        from words has no patch that anybody needs."""
        if result.outcome in KEPT:
            return
        if result.partial is not None and not (result.best is not None and result.drafted):
            self.say(sentence(partial_words(result.partial)), "bold yellow")
            self.talk.print(coloured(result.partial.diff), end="")
        for one in result.unlikely[1:]:
            self.say(f"As unlikely: {one.note or 'another patch'}", "bold yellow")
            self.talk.print(coloured(one.diff), end="")
        if result.best is not None:
            self.say(best_words(result), "bold yellow")


STRONG = ("L3", "L4")
"""Levels of the jail of which a calm view says nothing."""
TOLD_AT_THE_END = (
    RunStarted, TestsFrozen, Judged, Diagnosed, Searched, Recalled, PatchProposed, LessonLearned,
)
"""Events of which the result tells."""
LONG_STEPS = ("recall", "repair", "attempt", "prove")
"""Steps whose beginning is told where no spinner can."""


class Progress:
    """Shows events as they come: lines that stay, and on a terminal a spinner with the step."""

    def __init__(self, terminal: Terminal, *, calm: bool = False) -> None:
        self._terminal = terminal
        self._calm = calm
        self._spinner: Spinner | None = None
        self._report: Report | None = None
        self._start: RunStarted | None = None

    def __enter__(self) -> Self:
        if self._terminal.talk.is_terminal:
            self._spinner = self._terminal.talk.status("starting")
            self._spinner.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._spinner is not None:
            self._spinner.stop()

    def show(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, RunStarted):
            self._start = event
        if isinstance(event, StepStarted):
            self._begun(event.step)
        elif self._spinner is not None and isinstance(event, Searched):
            self._spinner.update(printable(search_words(event)))
        verbose = self._terminal.verbose
        for line in shown_lines(event, self._report, self._start, verbose=verbose):
            if not (self._calm and isinstance(event, TOLD_AT_THE_END)):
                self._terminal.say(" ".join(line.text.split("\n")), TONE_STYLES[line.tone])
        if self._calm and isinstance(event, RunStarted) and event.level not in STRONG:
            self._terminal.say(f"sandbox: {event.sandbox}", "yellow")
        if isinstance(event, Judged):
            self._report = event.report

    def _begun(self, step: Step) -> None:
        """Says what goes on, where nothing else would be said of it."""
        words = step_words(step, self._start)
        if self._spinner is not None:
            self._spinner.update(words)
        elif self._calm and step in LONG_STEPS:
            self._terminal.say(f"{words} …", "dim")


def shown_lines(
    event: Event, judged: Report | None = None, start: RunStarted | None = None, *,
    verbose: bool = False,
) -> list[Line]:
    """The lines that an event leaves; details among them, and what no face else tells of steps,
    suspects and evidence, where every detail is wanted."""
    lines = [line for line in event_lines(event, judged) if verbose or not line.detail]
    if not verbose:
        return lines
    match event:
        case StepStarted():
            more = [f"{step_words(event.step, start)} …"]
        case StepFinished():
            more = [f"{step_words(event.step, start)}: {event.wall_ms:.0f} ms"]
        case Diagnosed():
            more = blamed_words(event.diagnosis)
        case Proved():
            more = evidence_words(event.evidence)
        case _:
            more = []
    return [*lines, *(Line(f"  {words}") for words in more)]


def status_line(result: Result) -> Text:
    """The word that sums the run up, in its colour, and the facts beside it."""
    word, facts = headline(result)
    style = STYLES[result.outcome] if result.outcome is not None else "bold yellow"
    if result.phase == "failed":
        style = "bold red"
    elif result.phase == "running":
        word = "NOT FINISHED"  # nobody goes on with it here
    elif result.fitting > 1:
        style = OPEN_STYLE
    elif result.below:
        style = "bold yellow"
    shown = "".join(f" · {printable(cut(fact))}" for fact in facts)
    return Text.assemble((word, style), shown)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Rows of words under their columns."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        shown.add_column(name, overflow="fold", no_wrap=name in ("id", "run", "proof", "age"))
    for row in rows:
        shown.add_row(*(Text(printable(cut(text))) for text in row))
    return shown


def age(created: float) -> str:
    """How long ago a moment was, roughly."""
    seconds = max(0.0, time.time() - created)
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), name)} ago"
    return "just now"


def verdict_table(verdicts: Sequence[Verdict], *, ascii_only: bool = False) -> Table:
    """One row a test: what it came to in glyph and word, what it is, and what was seen."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("status", no_wrap=True)
    table.add_column("test", overflow="fold")
    table.add_column("origin", no_wrap=True)
    table.add_column("what was seen", overflow="fold")
    for verdict in verdicts:
        glyph, plain, _ = STANDING_SIGNS[verdict.standing]
        table.add_row(
            Text(
                f"{plain if ascii_only else glyph} {verdict.standing}",
                style=STANDING_STYLES[verdict.standing],
            ),
            Text(printable(cut(verdict.name))),
            Text(verdict.origin),
            Text(printable(seen_words(verdict))),
        )
    return table


def seen_words(verdict: Verdict) -> str:
    """Got and expected of a failing test; of a passing one only what limits its worth."""
    seen = []
    if not (verdict.passed or verdict.doubt or verdict.aside):
        if verdict.expected and verdict.got:
            seen.append(f"expected {verdict.expected}, got {verdict.got}")
        elif verdict.message or verdict.got:
            seen.append(verdict.message or verdict.got)
    return "; ".join(map(cut, (*seen, *verdict_words(verdict))))


def evidence_words(seen: Evidence | None) -> list[str]:
    """What proof above E2 was looked for in, a line for each thing that speaks against it."""
    if seen is None:
        return []
    return [
        *doubt_words(seen),
        *([f"variations of the repair tried: {seen.siblings}"] if seen.siblings else []),
        *([f"slips of no effect left out: {seen.equivalent}"] if seen.equivalent else []),
    ]


def blamed_words(diagnosis: Diagnosis) -> list[str]:
    """The suspected lines, each with what its variables held."""
    lines = []
    for blamed in diagnosis.blamed:
        lines.append(f"line {blamed.line} ({blamed.suspicion:.2f}): {blamed.text.strip()}")
        if blamed.values:
            values = ", ".join(f"{name} = {cut(value)}" for name, value in blamed.values)
            lines.append(f"  with {values}")
    return lines


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


def sentence(words: str) -> str:
    """Words as a sentence begins."""
    return words[:1].upper() + words[1:]


def make_writable(stream: TextIO) -> None:
    """Makes a stream take any text: a patch goes out as UTF-8 whatever the locale, and on a
    terminal what cannot be shown becomes an escape instead of an error."""
    if isinstance(stream, TextIOWrapper):
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="surrogatepass")


def _ascii(console: Console) -> bool:
    return not console.encoding.lower().startswith("utf")
