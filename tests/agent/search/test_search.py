"""The search with scripted answers to its questions; nothing is run."""

import tracemalloc
from collections.abc import Callable

import pytest

from agent.search.search import search
from agent.search.state import MAX_PLAUSIBLE
from agent.search.values import (
    Budget,
    Facts,
    Findings,
    JudgeRequest,
    PrecheckRequest,
    PrecheckResult,
    ProbeRequest,
    ProbeResult,
    SearchReply,
    SearchRequest,
    Trace,
    TracedTest,
    TraceRequest,
)
from agent.search.wording import edit_in_words

SOURCE = "def smaller(a, b):\n    if a > b:\n        return a\n    return b\n"
FAILS = Trace(
    (
        TracedTest(False, frozenset({1, 2, 3}), "AssertionError"),
        TracedTest(False, frozenset({1, 2, 4}), "AssertionError"),
    )
)
TESTS = Facts(tests=("assert smaller(1, 2) == 1", "assert smaller(4, 3) == 3"))

Judge = Callable[[str], PrecheckResult]


def drive(
    source: str,
    judge: Judge,
    *,
    trace: Trace | Callable[[str], Trace] = FAILS,
    facts: Facts = TESTS,
    budget: Budget | None = None,
    accept: Callable[[Findings], bool] = lambda findings: True,
    questions: list[SearchRequest] | None = None,
) -> tuple[Findings, list[str]]:
    """Runs a search to its end; also every text it asked about, and all of its `questions`."""
    steps = search(source, facts, budget or Budget())
    asked: list[str] = []
    answer: SearchReply = None
    while True:
        try:
            question = steps.send(answer)
        except StopIteration as stop:
            findings: Findings = stop.value
            return findings, asked
        if questions is not None:
            questions.append(question)
        match question:
            case TraceRequest(text=text):
                answer = trace if isinstance(trace, Trace) else trace(text)
            case ProbeRequest(texts=texts, calls=calls):
                answer = ProbeResult(tuple(("1",) * len(calls) for _ in texts),
                                tuple((1,) * len(calls) for _ in texts))
            case PrecheckRequest(candidates=candidates):
                asked += candidates
                answer = tuple(judge(text) for text in candidates)
            case JudgeRequest(findings=so_far):
                answer = accept(so_far)


def passing(*wanted: str) -> Judge:
    """Only the wanted texts pass."""

    def judge(text: str) -> PrecheckResult:
        if text in wanted:
            return PrecheckResult((True, True), "ok")
        return PrecheckResult((False, None), "failed")

    return judge


def test_the_text_that_passes_is_found_and_described() -> None:
    healed = SOURCE.replace("a > b", "a < b")
    findings, _ = drive(SOURCE, passing(healed))

    (best,) = findings.plausible
    assert best.text == healed
    assert best.operators == ("comparison",)
    assert best.note == "`>` → `<` in line 2"


def test_a_search_repeats_no_text_and_is_deterministic() -> None:
    _, asked = drive(SOURCE, passing(), budget=Budget(candidates=3000))

    assert len(set(asked)) == len(asked)
    assert asked[0] == SOURCE  # for comparison

    first = drive(SOURCE, passing(), budget=Budget(candidates=500))

    assert drive(SOURCE, passing(), budget=Budget(candidates=500)) == first


def test_the_search_continues_if_nothing_offered_is_accepted() -> None:
    first = SOURCE.replace("a > b", "a < b")
    other = SOURCE.replace("a > b", "a >= b").replace("return b", "return b + 1")
    offers: list[tuple[str, ...]] = []

    def accept(findings: Findings) -> bool:
        offers.append(tuple(one.text for one in findings.plausible))
        return any(one.text != first for one in findings.plausible)

    drive(SOURCE, passing(first, other), accept=accept)

    assert offers == [(first,), (other,)]


def test_a_partial_fix_is_extended_by_a_second_edit() -> None:
    source = "def f(a, b):\n    c = a - b\n    return c < 0\n"
    half = source.replace("a - b", "a + b")
    whole = half.replace("< 0", "<= 0")

    def judge(text: str) -> PrecheckResult:
        if text == whole:
            return PrecheckResult((True, True), "ok")
        return PrecheckResult((text == half, False), "failed")

    findings, _ = drive(source, judge)

    assert [one.text for one in findings.plausible] == [whole]


def test_the_best_partial_fix_is_kept() -> None:
    half = SOURCE.replace("a > b", "a < b")

    def judge(text: str) -> PrecheckResult:
        return PrecheckResult((text == half, False), "failed")

    findings, _ = drive(SOURCE, judge, budget=Budget(candidates=600))

    assert findings.plausible == ()
    assert findings.partial is not None
    assert (findings.partial.text, findings.partial.passed) == (half, 1)


def test_results_of_the_expected_type_are_ranked_before_equal_ones() -> None:
    source = "def f(a):\n    return a > 1\n"

    def judge(text: str) -> PrecheckResult:
        if text == source.replace("> 1", ">= 1"):
            return PrecheckResult((True, True), "ok", types=("int/bool",))
        if text == source.replace("> 1", "> 0"):
            return PrecheckResult((True, True), "ok")
        return PrecheckResult((False, False), "failed")

    findings, _ = drive(source, judge)

    assert findings.plausible[0].text == source.replace("> 1", "> 0")


def test_protected_asserts_of_the_file_are_never_edited() -> None:
    source = SOURCE + "\nassert smaller(1, 2) == 1\n"
    _, asked = drive(
        source, passing(), facts=Facts(tests=TESTS.tests, protected=((6, 6),)),
        budget=Budget(candidates=3000),
    )

    assert asked
    assert all("\nassert smaller(1, 2) == 1\n" in text for text in asked)


def test_a_deliberate_raise_is_not_repaired() -> None:
    source = "def f(x):\n    raise ValueError(x)\n\nf(1)\n"
    raised = Trace((TracedTest(False, frozenset({1, 2, 4}), "ValueError", "1", 2),))
    findings, asked = drive(source, passing(), trace=raised, facts=Facts())

    assert asked == []
    assert findings.plausible == ()


def test_without_a_failing_test_nothing_is_tried() -> None:
    healthy = Trace((TracedTest(True, frozenset({1, 2})), TracedTest(True, frozenset({1, 2}))))
    _, asked = drive(SOURCE, passing(), trace=healthy)

    assert asked == []


def test_slow_candidates_are_retried_with_more_patience() -> None:
    slow = SOURCE.replace("a > b", "a < b")
    questions: list[SearchRequest] = []

    def judge(text: str) -> PrecheckResult:
        last = questions[-1]
        assert isinstance(last, PrecheckRequest)
        if text != slow:
            return PrecheckResult((False, None), "failed")
        return PrecheckResult((True, True), "ok") if last.limit_factor > 1 else PrecheckResult(
            (False, None), "timeout"
        )

    findings, _ = drive(SOURCE, judge, questions=questions)

    asked = [
        one.limit_factor for one in questions
        if isinstance(one, PrecheckRequest) and slow in one.candidates
    ]
    assert asked == [1.0, 20.0]
    assert [one.text for one in findings.plausible] == [slow]


def test_a_syntax_error_is_repaired_before_the_fault() -> None:
    broken = "def smaller(a, b)\n    if a > b:\n        return a\n    return b\n"
    healed = SOURCE.replace("a > b", "a < b")
    findings, _ = drive(broken, passing(healed))

    assert [one.text for one in findings.plausible] == [healed]


def test_functions_that_no_failing_test_entered_are_edited_last() -> None:
    idle = "def idle(a, b):\n    return a - b\n\n\n"
    failing = Trace((TracedTest(False, frozenset({1, 5, 6, 8}), "AssertionError"),))
    judge = passing()

    _, asked = drive(idle + SOURCE, judge, trace=failing, budget=Budget(pairs=50))

    inside = [text for text in asked[1:] if text.endswith(SOURCE)]
    assert inside and asked[-len(inside) :] == inside


def test_functions_that_no_test_entered_come_before_pairs_after_a_timeout() -> None:
    idle = "def idle(a, b):\n    return a - b\n\n\n"
    healed = idle.replace("-", "+") + SOURCE
    failing = Trace((TracedTest(False, frozenset({1, 5, 6, 8}), "TimeoutError"),))

    findings, asked = drive(idle + SOURCE, passing(healed), trace=failing)

    assert [one.text for one in findings.plausible] == [healed]
    assert all(text.startswith(idle) or text.endswith(SOURCE) for text in asked)


def test_an_edit_of_a_long_text_is_described_by_its_line() -> None:
    before = "".join(f"x{n} = {n}\n" for n in range(500)) + "a\nlast = 1\n"

    assert edit_in_words(before, before.replace("last = 1", "last = 2")) == (
        "`1` → `2` in line 502"
    )
    assert edit_in_words(before, before + "b = 1\n") == "added `b = 1` after line 502"
    assert edit_in_words("a\na\n", "a\na\na\n") == "added `a` after line 2"
    assert edit_in_words("a\na\na\n", "a\na\n") == "removed `a` from line 3"


def test_a_constant_that_all_tests_expect_is_not_offered() -> None:
    source = "def add(a, b):\n    return len('xxxxx') + a - a - b\n"
    constant = "def add(a, b):\n    return len('xxxxx')\n"
    facts = Facts(tests=("assert add(2, 3) == 5",))

    findings, asked = drive(
        source, passing(constant), facts=facts, budget=Budget(candidates=2000)
    )

    assert constant in asked
    assert findings.plausible == ()


def test_without_tests_another_function_costs_more() -> None:
    source = 'n = int("7")\n'
    crashed = Trace((TracedTest(False, frozenset({1}), "ValueError", "invalid literal", 1),))

    def order(facts: Facts) -> list[str]:
        return drive(source, passing(), trace=crashed, facts=facts)[1]

    untested, tested = order(Facts()), order(Facts(tests=("assert n == 1",)))

    assert tested.index('n = ord("7")\n') < tested.index('n = "7"\n')
    assert untested.index('n = "7"\n') < untested.index('n = ord("7")\n')


def test_a_long_program_does_not_fill_the_memory() -> None:
    rest = "".join(f"def f{n}(a, b):\n    return a + b * {n}\n\n\n" for n in range(400))
    long = SOURCE + "\n\n" + rest

    tracemalloc.start()
    findings, asked = drive(long, passing(), budget=Budget(candidates=100))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(asked) == findings.tried == 100
    assert most < 1_500 * len(long)  # thousands of candidates are planned


def test_no_more_edits_are_listed_once_the_search_is_over() -> None:
    asked: list[bool] = []

    def over() -> bool:
        asked.append(True)
        return len(asked) > 10

    findings, _ = drive(SOURCE, passing(), budget=Budget(is_over=over))

    whole, _ = drive(SOURCE, passing())
    assert findings.tried < whole.tried


def test_only_probed_candidates_are_offered() -> None:
    questions: list[SearchRequest] = []
    drive(
        SOURCE,
        lambda text: PrecheckResult((text != SOURCE,), "ok" if text != SOURCE else "failed"),
        facts=Facts(tests=("assert smaller(1, 2) == 1",)), budget=Budget(candidates=400),
        accept=lambda findings: False, questions=questions,
    )

    asked = [one.texts for one in questions if isinstance(one, ProbeRequest)]
    shown = [one.findings.plausible for one in questions if isinstance(one, JudgeRequest)]
    assert len({one.text for texts in shown for one in texts}) > MAX_PLAUSIBLE
    assert {one.text for one in shown[0]} == {*asked[1]} - {SOURCE}


def test_two_missing_names_are_repaired_one_after_another() -> None:
    source = "def total(items, start):\n    whole = strat\n    return whol + sum(items)\n"
    missing = {"strat": 2, "whol": 3}

    def exception(text: str) -> tuple[str, str, int | None]:
        for name, line in missing.items():
            if f"{name}\n" in text or f"{name} " in text:
                return "NameError", f"name '{name}' is not defined", line
        return "AssertionError", "", None

    def trace(text: str) -> Trace:
        kind, message, line = exception(text)
        return Trace((TracedTest(False, frozenset({1, 2}), kind, message, line),))

    def judge(text: str) -> PrecheckResult:
        if text == source.replace("strat", "start").replace("whol ", "whole "):
            return PrecheckResult((True,), "ok")
        kind, message, line = exception(text)
        return PrecheckResult((False,), "failed", kind, message, line)

    found, asked = drive(
        source, judge, trace=trace, facts=Facts(tests=("assert total([1], 2) == 3",))
    )
    assert [one.text for one in found.plausible] == [
        source.replace("strat", "start").replace("whol ", "whole ")
    ]
    assert len(asked) < 40


@pytest.mark.parametrize(("source", "is_repaired"), [
    ("print('start')\nrows = [1]\nrows[3]\nprint('done')\n", False),
    ("print('start')\nrows = [1]\nrows[3]\n", True),
    # A line that raises in a loop may have printed before.
    ("rows = [1]\nfor place in range(2):\n    print(rows[place])\n", True),
])
def test_no_output_after_a_crash_is_dropped(source: str, is_repaired: bool) -> None:
    trace = Trace((TracedTest(False, frozenset({1, 2, 3}), "IndexError", "list index", 3),))

    findings, _ = drive(
        source, lambda text: PrecheckResult((True,), "ok", types=("silent",)), trace=trace,
        facts=Facts(), budget=Budget(candidates=40),
    )
    assert bool(findings.plausible) is is_repaired


def test_mistakes_that_exceptions_report_are_repaired_one_after_another() -> None:
    source = "stock = {'a': 0}\nfor name in stock:\n    del stock[name]\nprint('-'.join([1]))\n"
    between = source.replace("in stock:", "in list(stock):")
    meant = between.replace("[1]", "map(str, [1])")

    def ended(text: str) -> tuple[str, str, int]:
        if "list(stock)" not in text:
            return "RuntimeError", "dictionary changed size during iteration", 2
        return "TypeError", "sequence item 0: expected str instance, int found", 4

    def trace(text: str) -> Trace:
        exception, message, line = ended(text)
        return Trace((TracedTest(False, frozenset({1, 2, 3}), exception, message, line),))

    def judge(text: str) -> PrecheckResult:
        if text == meant:
            return PrecheckResult((True,), "ok")
        return PrecheckResult((False,), "failed", *ended(text))

    found, _ = drive(source, judge, trace=trace, facts=Facts())
    assert [(one.text, one.operators) for one in found.plausible] == [
        (meant, ("reported mistake", "reported mistake"))
    ]
