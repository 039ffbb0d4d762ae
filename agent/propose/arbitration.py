"""Who is right where a program fails a test that was derived for it: what other witnesses say.

In order of cost: another program of the run that failed nothing which stands, a second prediction
from the words alone, a plain program written from the words to compute it, and last an arbiter,
who must quote the sentence that settles it. Nobody of them is shown both answers but the arbiter,
whose word settles nothing against a witness. Programs of one run descend from each other and share
their faults, so they speak for a test and never against it; no more does a plain program alone, for
one that a model wrote; but it keeps a single voice from confirming the test. One witness is enough
where the value could hardly come about by chance, once the plain program was heard as well; where
it could, as a truth could, it takes two.

Where tests of the user pin the program, a derived test is no more than a doubt, and an adversarial
call is evidence alone: for these neither plain program nor arbiter is paid.
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
from agent.core.trees import literal_value, plain
from agent.iteration.context import Context
from agent.propose.roles import (
    ARBITER,
    PREDICTOR,
    ask_for_code,
    ask_if_it_answers,
    if_it_answers,
)
from agent.propose.wording import is_one_file
from agent.search.ranking.question import Answer
from agent.target.task import PASTED

MAX_RULED = 3
"""Tests that the arbiter is asked about at once; others stay as they are."""
UNDECIDED = "nothing settles it"


@dataclass
class Dispute:
    """A derived test, how the program fails it, and who has given which value so far."""

    test: TestCase
    verdict: Verdict
    for_test: list[str] = field(default_factory=list)
    for_code: list[str] = field(default_factory=list)
    for_neither: list[str] = field(default_factory=list)
    """Those who give a third value: where test and program are both wrong."""
    same_model: list[str] = field(default_factory=list)
    """Those who say what the program does and are of its own model: nobody's witness against a
    test, but enough to keep one other from confirming it."""

    def hear(self, value: Answer, who: str) -> None:
        """A value that somebody else gives for the call."""
        if _fits(value, self.test):
            self.for_test.append(who)
        elif same(value, gave(self.verdict)):
            self.for_code.append(who)
        else:
            self.for_neither.append(who)

    @property
    def needed(self) -> int:
        texts = (expected_of(self.test), gave(self.verdict))
        return 1 if all(map(_distinguishing, texts)) else 2

    @property
    def is_sure(self) -> bool:
        """Whether it is settled, and by more than one voice where the program is to be changed."""
        found = self.settled
        return found is not None and (found.ruling == "excluded" or len(self.for_test) > 1)

    def ruled(self, ruling: Ruled, why: str, quote: str = "") -> TestRuled:
        """What comes of it."""
        return TestRuled(test=self.test.name, ruling=ruling, why=why, quote=quote)

    def left_open(self, why: str) -> TestRuled:
        """What comes of it where nothing settles it."""
        contested = (self.for_code or self.same_model) and not self.for_test
        return self.ruled("contested" if contested else "undecided", why)

    @property
    def settled(self) -> TestRuled | None:
        if len(self.for_test) >= self.needed and not (self.for_code or self.same_model):
            return self.ruled("confirmed", f"{_and(self.for_test)} the same value")
        if len(self.for_code) >= self.needed and not self.for_test:
            return self.ruled("excluded", f"{_and(self.for_code)} what the program gives")
        return None


def _and(who: Sequence[str]) -> str:
    return f"{' and '.join(who)} give{'s' if len(who) == 1 else ''}"


def in_dispute(suite: Suite, report: Report) -> tuple[Verdict, ...]:
    """Derived tests that the program fails and nobody has judged yet. Adversarial calls are no
    more than evidence where tests of the user say what the program does."""
    derived = {"spec"} if suite.is_specified else {"spec", "adversarial"}
    known = {*suite.heard, *suite.aside}
    return tuple(
        one for one in report.verdicts
        if one.origin in derived and one.fails and one.test not in known
    )


async def rulings(
    ctx: Context, solution: Solution, disputes: Sequence[Dispute], *, is_specified: bool
) -> tuple[TestRuled, ...]:
    """Rules on each dispute. A role without an answer is reported, and settles nothing."""
    _earlier(ctx, solution, disputes)
    await _predicted(ctx, [one for one in disputes if one.settled is None])
    # Neither plain program nor arbiter is paid where nothing hangs on what they say.
    worth = [one for one in disputes if not is_specified and one.test.origin != "adversarial"]
    await _referred(ctx, solution, [one for one in worth if not one.is_sure])
    settled = [one.settled for one in disputes if one.settled is not None]
    left = [one for one in disputes if one.settled is None]
    asked = [one for one in worth if one.settled is None][:MAX_RULED]
    ruled = [await _ruled(ctx, solution, one) for one in asked]
    rest = [one.left_open(UNDECIDED) for one in left if one not in asked]
    return (*settled, *ruled, *rest)


def _earlier(ctx: Context, solution: Solution, cases: Sequence[Dispute]) -> None:
    """Other programs of this run that passed the test in dispute, and failed none that stands."""
    events = [entry.event for entry in ctx.log()]
    texts = {
        event.solution.id: _dumped(event.solution)
        for event in events if isinstance(event, CodeWritten)
    }
    own = _dumped(solution)
    newest = {
        texts.get(event.report.solution, own): event.report
        for event in events if isinstance(event, Judged)
    }
    newest.pop(own, None)
    for report in newest.values():
        if any(one.fails and not one.aside for one in report.oracle):
            continue
        passed = {one.test for one in report.verdicts if one.passed}
        for case in cases:
            if case.test.name in passed:
                case.for_test.append("another program of this run")


def _dumped(solution: Solution) -> str:
    return "\n".join(file.text.strip() for file in solution.files)


async def _predicted(ctx: Context, cases: Sequence[Dispute]) -> None:
    """What follows from the words alone, by one who sees neither program nor test."""
    predicted = await predictions(
        ctx, [_call(one.test) for one in cases],
        without="The tests in dispute are judged without its prediction.",
    )
    for case in cases:
        if (call := _call(case.test)) in predicted:
            case.hear(Answer.read(predicted[call]), "a second prediction from the words")


async def predictions(ctx: Context, calls: Sequence[str], *, without: str) -> dict[str, str]:
    """What calls give, as a model predicts it from the task's words alone; only those that it
    answers."""
    asked = [*filter(None, calls)]
    if not asked or ctx.plan.of(ARBITER.name) is None:
        return {}
    answer = await ask_if_it_answers(
        ctx, PREDICTOR, {"task": ctx.task.text, "calls": "\n".join(asked)}, without=without
    )
    predicted = {_plain(one.call): one.expected for one in (answer.examples if answer else ())}
    return {call: predicted[_plain(call)] for call in asked if _plain(call) in predicted}


def _plain(call: str) -> str:
    """A call without its spaces."""
    return "".join(call.split())


async def _referred(ctx: Context, solution: Solution, cases: Sequence[Dispute]) -> None:
    """What a plain program gives that was written from the words, to compute it. One model reads
    the same words alike twice: against a test it is no witness for a program of its own, but
    beside another."""
    if not cases or ctx.plan.of(GENERATOR) is None or not is_one_file(ctx.task, solution):
        return
    text = await if_it_answers(
        ctx, GENERATOR, ask_for_code(ctx, "reference", {"task": ctx.task.text}),
        "The tests in dispute are judged without a plain program to compare with.",
    )
    if text is None:
        return
    entry = solution.entry or PASTED
    reference = Solution(files=(File(path=entry, text=text),), entry=entry, origin="model")
    report = await ctx.judge(reference, [one.test for one in cases])
    verdicts = {one.test: one for one in report.verdicts}
    who = "a plain program written from the words"
    for case in cases:
        found = verdicts.get(case.test.name)
        if found is not None and found.passed:
            case.for_test.append(who)
        elif found is not None and solution.origin == "model" and not case.for_code and (
            same(gave(found), gave(case.verdict))
        ):
            case.same_model.append(who)
        elif found is not None:
            case.hear(gave(found), who)


async def _ruled(ctx: Context, solution: Solution, case: Dispute) -> TestRuled:
    """What the arbiter says; without a sentence that stands in the task word by word it is open."""
    if ctx.plan.of(ARBITER.name) is None:
        return case.left_open("no model is there to judge it")
    answer = await ask_if_it_answers(
        ctx, ARBITER, {
            "task": ctx.task.text, "code": solution.text, "test": case.test.code,
            "failure": case.verdict.message,
        },
        without="The test in dispute stays as it is.",
    )
    if answer is None or answer.verdict == "spec_ambiguous":
        return case.left_open(answer.reason if answer else UNDECIDED)
    if not stands_in(answer.quote, ctx.task.text):
        return case.left_open("the arbiter's quote does not stand in the task")
    ruling: Ruled = "excluded" if answer.verdict == "test_wrong" else "confirmed"
    against = (
        case.for_test if ruling == "excluded"
        else (*case.for_code, *case.same_model, *case.for_neither)
    )
    if against:
        return case.left_open(f"the arbiter is at odds with {' and '.join(against)}")
    return case.ruled(ruling, answer.reason, answer.quote)


def stands_in(quote: str, words: str) -> bool:
    """Whether a quote stands in a text word by word, however it is broken into lines; pure."""
    said = " ".join(quote.split()).strip(" .\"'`")
    return len(said) > 2 and said in " ".join(words.split())


def same(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same; one that nobody knows is none. Pure."""
    if one.raises or other.raises:
        return one == other
    if not one.gives or not other.gives:
        return False
    try:
        return bool(literal_value(one.gives) == literal_value(other.gives))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return plain(one.gives) == plain(other.gives)


def _fits(value: Answer, test: TestCase) -> bool:
    """Whether an answer is one that a test asks for; a property asks for no more than any."""
    return not value.raises if isinstance(test, Property) else same(value, expected_of(test))


def _distinguishing(value: Answer) -> bool:
    """Whether two who answer alike hardly do so by chance."""
    few = ("True", "False", "None", "0", "1", "-1", "[]", "{}", "()", "''", "")
    return bool(value.raises) or value.gives not in few


def expected_of(test: TestCase) -> Answer:
    """What a test expects of its call; empty where it expects no more than an end of it."""
    match test:
        case Example(expected=expected):
            return Answer(expected)
        case Raises(exception=exception):
            return Answer(raises=exception)
        case _:
            return Answer()


def gave(verdict: Verdict) -> Answer:
    """What the program gave for the call of a test that it fails; empty where nobody knows."""
    if verdict.status == "error" and verdict.got:
        return Answer(raises=verdict.got.partition(":")[0])
    return Answer(verdict.got)


def _call(test: TestCase) -> str:
    """What a test asks, without what it expects; empty for a script."""
    return "" if isinstance(test, Script) else test.call
