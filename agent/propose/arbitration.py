"""Validates derived tests that a program fails, by votes from independent sources.

The sources, in order of cost: another program of the run that fails no valid test, a second
prediction from the task's text, a reference program written from the text, and an arbiter, which
must quote the deciding sentence. Only the arbiter sees both values, and it cannot overrule a vote.

Programs of one run descend from each other and share faults, so they vote for a test and never
against it. A reference program does not vote against a test either if the same model wrote the
program in dispute, but its vote prevents a single other vote from confirming the test. One vote
settles a dispute if the value is unlikely to agree by chance and the reference program has voted
too; for values such as a boolean it takes two.

If the user's tests specify the program, a derived test is only a doubt, and an adversarial call is
only evidence. For these, neither a reference program nor an arbiter is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.core.domain import (
    Example,
    File,
    Property,
    Raises,
    Report,
    Script,
    Solution,
    TestCase,
    Verdict,
)
from agent.core.events import CodeWritten, Judged, TestRuled
from agent.core.settings import GENERATOR
from agent.core.state import Ruled, Suite
from agent.core.trees import literal_value, normalized
from agent.iteration.context import Context
from agent.propose.roles import ARBITER, PREDICTOR, answer_or_none, ask_for_code, ask_or_none
from agent.propose.wording import is_one_file
from agent.search.ranking.question import Answer
from agent.target.task import PASTED_FILENAME

MAX_RULED = 3
"""The maximum number of tests that the arbiter is asked about."""
UNDECIDED = "the votes are inconclusive"


@dataclass
class Dispute:
    """A derived test, the program's failing verdict, and the votes so far."""

    test: TestCase
    verdict: Verdict
    for_test: list[str] = field(default_factory=list)
    for_code: list[str] = field(default_factory=list)
    for_neither: list[str] = field(default_factory=list)
    """Sources that give a third value: test and program are both wrong."""
    same_model: list[str] = field(default_factory=list)
    """Same-model votes for the program's value: they do not count against a test, but prevent a
    single vote from confirming it."""

    def add_vote(self, value: Answer, source: str) -> None:
        if _fits(value, self.test):
            self.for_test.append(source)
        elif same(value, value_of(self.verdict)):
            self.for_code.append(source)
        else:
            self.for_neither.append(source)

    @property
    def votes_needed(self) -> int:
        values = (expected_of(self.test), value_of(self.verdict))
        return 1 if all(map(_is_unlikely_by_chance, values)) else 2

    @property
    def needs_no_more_votes(self) -> bool:
        """Whether more votes cannot help; confirming takes two, as the program must change."""
        found = self.final_ruling
        return found is not None and (found.ruling == "excluded" or len(self.for_test) > 1)

    def ruling(self, ruling: Ruled, why: str, quote: str = "") -> TestRuled:
        return TestRuled(test=self.test.name, ruling=ruling, why=why, quote=quote)

    def undecided_ruling(self, why: str) -> TestRuled:
        contested = (self.for_code or self.same_model) and not self.for_test
        return self.ruling("contested" if contested else "undecided", why)

    @property
    def final_ruling(self) -> TestRuled | None:
        if len(self.for_test) >= self.votes_needed and not (self.for_code or self.same_model):
            return self.ruling("confirmed", f"{_sources_give(self.for_test)} the same value")
        if len(self.for_code) >= self.votes_needed and not self.for_test:
            return self.ruling("excluded", f"{_sources_give(self.for_code)} the program's value")
        return None


def _sources_give(sources: Sequence[str]) -> str:
    return f"{' and '.join(sources)} give{'s' if len(sources) == 1 else ''}"


def failing_derived(suite: Suite, report: Report) -> tuple[Verdict, ...]:
    """Returns failing derived tests that are not validated yet; adversarial calls only if no test
    of the user specifies the program."""
    derived = {"spec"} if suite.is_specified else {"spec", "adversarial"}
    known = {*suite.validated, *suite.excluded}
    return tuple(
        one for one in report.verdicts
        if one.origin in derived and one.fails and one.test not in known
    )


async def rulings(
    ctx: Context, solution: Solution, disputes: Sequence[Dispute], *, is_specified: bool
) -> tuple[TestRuled, ...]:
    """Rules on each dispute; a role without an answer is reported and does not vote."""
    _add_earlier_programs(ctx, solution, disputes)
    await _add_predictions(ctx, [one for one in disputes if one.final_ruling is None])
    # A reference program and an arbiter are paid only for rulings that change the result.
    important = [one for one in disputes if not is_specified and one.test.origin != "adversarial"]
    await _add_reference(ctx, solution, [one for one in important if not one.needs_no_more_votes])
    settled = [one.final_ruling for one in disputes if one.final_ruling is not None]
    open_disputes = [one for one in disputes if one.final_ruling is None]
    for_arbiter = [one for one in important if one.final_ruling is None][:MAX_RULED]
    ruled = [await _ask_arbiter(ctx, solution, one) for one in for_arbiter]
    rest = [one.undecided_ruling(UNDECIDED) for one in open_disputes if one not in for_arbiter]
    return (*settled, *ruled, *rest)


def _add_earlier_programs(ctx: Context, solution: Solution, cases: Sequence[Dispute]) -> None:
    """Adds votes of the run's other programs that passed the test and failed no valid test."""
    events = [entry.event for entry in ctx.log()]
    texts = {
        event.solution.id: _joined_text(event.solution)
        for event in events if isinstance(event, CodeWritten)
    }
    own = _joined_text(solution)
    newest = {
        texts.get(event.report.solution, own): event.report
        for event in events if isinstance(event, Judged)
    }
    newest.pop(own, None)
    for report in newest.values():
        if any(one.fails and not one.excluded for one in report.deciding_verdicts):
            continue
        passed = {one.test for one in report.verdicts if one.passed}
        for case in cases:
            if case.test.name in passed:
                case.for_test.append("another program of this run")


def _joined_text(solution: Solution) -> str:
    return "\n".join(file.text.strip() for file in solution.files)


async def _add_predictions(ctx: Context, cases: Sequence[Dispute]) -> None:
    """Adds the votes of a model that sees only the task's text, neither program nor test."""
    predicted = await predictions(
        ctx, [_call(one.test) for one in cases],
        consequence="The disputed tests are validated without its prediction.",
    )
    for case in cases:
        if (call := _call(case.test)) in predicted:
            case.add_vote(Answer.read(predicted[call]), "a second prediction from the task")


async def predictions(ctx: Context, calls: Sequence[str], *, consequence: str) -> dict[str, str]:
    """Predicts the results of calls from the task's text; contains only answered calls."""
    queries = [*filter(None, calls)]
    if not queries or ctx.plan.of(ARBITER.name) is None:
        return {}
    answer = await ask_or_none(
        ctx, PREDICTOR, {"task": ctx.task.text, "calls": "\n".join(queries)},
        consequence=consequence
    )
    found = {_without_spaces(one.call): one.expected for one in (answer.examples if answer else ())}
    return {
        call: found[_without_spaces(call)] for call in queries if _without_spaces(call) in found
    }


def _without_spaces(call: str) -> str:
    return "".join(call.split())


async def _add_reference(ctx: Context, solution: Solution, cases: Sequence[Dispute]) -> None:
    """Adds the votes of a reference program written from the task's text. A model tends to read a
    text the same way twice, so its vote for its own program counts only with another vote."""
    if not cases or ctx.plan.of(GENERATOR) is None or not is_one_file(ctx.task, solution):
        return
    text = await answer_or_none(
        ctx, GENERATOR, ask_for_code(ctx, "reference", {"task": ctx.task.text}),
        "The disputed tests are validated without a reference program.",
    )
    if text is None:
        return
    entry = solution.entry or PASTED_FILENAME
    reference = Solution(files=(File(path=entry, text=text),), entry=entry, origin="model")
    report = await ctx.judge(reference, [one.test for one in cases])
    verdicts = {one.test: one for one in report.verdicts}
    source = "a reference program written from the task"
    for case in cases:
        found = verdicts.get(case.test.name)
        if found is not None and found.passed:
            case.for_test.append(source)
        elif found is not None and solution.origin == "model" and not case.for_code and (
            same(value_of(found), value_of(case.verdict))
        ):
            case.same_model.append(source)
        elif found is not None:
            case.add_vote(value_of(found), source)


async def _ask_arbiter(ctx: Context, solution: Solution, case: Dispute) -> TestRuled:
    """Asks the arbiter; without a literal quote from the task the dispute stays open."""
    if ctx.plan.of(ARBITER.name) is None:
        return case.undecided_ruling("no model is available to validate it")
    answer = await ask_or_none(
        ctx, ARBITER, {
            "task": ctx.task.text, "code": solution.text, "test": case.test.code,
            "failure": case.verdict.message,
        },
        consequence="The disputed test is not validated.",
    )
    if answer is None or answer.verdict == "spec_ambiguous":
        return case.undecided_ruling(answer.reason if answer else UNDECIDED)
    if not is_quoted(answer.quote, ctx.task.text):
        return case.undecided_ruling("the task does not contain the arbiter's quote")
    ruling: Ruled = "excluded" if answer.verdict == "test_wrong" else "confirmed"
    against = (
        case.for_test if ruling == "excluded"
        else (*case.for_code, *case.same_model, *case.for_neither)
    )
    if against:
        return case.undecided_ruling(f"the arbiter contradicts {' and '.join(against)}")
    return case.ruling(ruling, answer.reason, answer.quote)


def is_quoted(quote: str, words: str) -> bool:
    """Whether a text contains a quote literally, except for line breaks."""
    plain_quote = " ".join(quote.split()).strip(" .\"'`")
    return len(plain_quote) > 2 and plain_quote in " ".join(words.split())


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are equal; unknown answers never are."""
    if one.raises or other.raises:
        return one == other
    if not one.literal or not other.literal:
        return False
    try:
        return bool(literal_value(one.literal) == literal_value(other.literal))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return normalized(one.literal) == normalized(other.literal)


def _fits(value: Answer, test: TestCase) -> bool:
    """Whether an answer passes a test; a property accepts any value."""
    return not value.raises if isinstance(test, Property) else same(value, expected_of(test))


def _is_unlikely_by_chance(value: Answer) -> bool:
    """Whether two sources are unlikely to give this value by chance."""
    common = ("True", "False", "None", "0", "1", "-1", "[]", "{}", "()", "''", "")
    return bool(value.raises) or value.literal not in common


def expected_of(test: TestCase) -> Answer:
    """The expected answer of a test's call; empty if it only has to return."""
    match test:
        case Example(expected=expected):
            return Answer(expected)
        case Raises(exception=exception):
            return Answer(raises=exception)
        case _:
            return Answer()


def value_of(verdict: Verdict) -> Answer:
    """The program's answer to the call of a failing test; empty if unknown."""
    if verdict.status == "error" and verdict.got:
        return Answer(raises=verdict.got.partition(":")[0])
    return Answer(verdict.got)


def _call(test: TestCase) -> str:
    return "" if isinstance(test, Script) else test.call
