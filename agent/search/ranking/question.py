"""The question that decides between competing patches, and the test made of its answer."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from agent.core.domain import (
    Alternative,
    Alternatives,
    Behaviour,
    CompetingPatches,
    Example,
    Raises,
    Script,
    Solution,
    TestCase,
)
from agent.core.trees import parse_expression
from agent.search.confidence.model import likely_if_alone
from agent.search.ranking.competing import MOST, answer_literal, distinguishing_call, is_exception

MAX_ASKED = 3
"""Questions of one run."""
LONGEST_ANSWER = 2_000
"""Characters of an answer; parsing a longer literal would take long."""
SKIP = "skip"
SINGLE = ("True", "False", "None")
"""Values that are compared by `is`."""


class BadAnswer(ValueError):
    """The answer is no label and no value; the message says which answers are possible."""


class Answer(NamedTuple):
    """The outcome of a call: a literal, or the name of an exception; neither if it is unknown."""

    literal: str = ""
    raises: str = ""

    @classmethod
    def read(cls, text: str) -> Answer:
        """Parses an answer of a person or a model: a value, or `raises` and a name."""
        word, _, name = text.strip().partition(" ")
        return cls(raises=name.strip()) if word == "raises" else cls(text.strip())


def question(alternatives: Alternatives, base: Solution) -> CompetingPatches | None:
    """The confirmed behaviours, at most three, and the best call that distinguishes them.

    Without calls, as in a project, the behaviours are described by their edits and there is no
    question to ask. `None` if a person could not distinguish two of them, or if the chosen patch,
    the first, is not `likely_if_alone`.
    """
    calls = alternatives.calls
    if not calls:
        shown = [*alternatives.behaviours]
        return _question("", shown, [""] * len(shown), base) if len(shown) > 1 else None
    every = alternatives.behaviours
    known = [one for one in every if one.confirmed and likely_if_alone(one.solution)]
    if not known or known[0] is not every[0]:
        return None
    own, *others = known
    differing = [
        one for one in others if distinguishing_call(calls, [own.answers, one.answers]) is not None
    ]
    shown = [own, *differing[: MOST - 1]]
    place = distinguishing_call(calls, [one.answers for one in shown])
    if place is None:
        return None
    return _question(calls[place], shown, [one.answers[place] for one in shown], base)


def _question(
    call: str, shown: Sequence[Alternative], answers: Sequence[str], base: Solution
) -> CompetingPatches:
    return CompetingPatches(call=call, behaviours=tuple(
        Behaviour(
            label=label, gives=answer.literal, raises=answer.raises, solution=one.solution,
            note=one.note, diff=one.solution.diff(base),
        ) for label, one, answer in zip("ABC", shown, map(given, answers), strict=False)
    ))


def given(answer: str) -> Answer:
    """Converts the answer of a probe."""
    return Answer(raises=answer[1:]) if answer.startswith("!") else Answer(answer)


def choices(patches: CompetingPatches) -> tuple[tuple[tuple[str, ...], Answer], ...]:
    """Each different answer with the labels of the patches that give it."""
    labels: dict[Answer, list[str]] = {}
    for one in patches.behaviours:
        labels.setdefault(Answer(one.gives, one.raises), []).append(one.label)
    return tuple((tuple(some), answer) for answer, some in labels.items())


def describe_behaviours(patches: CompetingPatches) -> str:
    """Describes the behaviours: ``for `f(3, [])` A gives 0, B gives None``; without a call by their
    edits."""
    if not patches.call:
        return "; ".join(f"{one.label}: {one.note}" for one in patches.behaviours)
    labelled = choices(patches)
    text = f"for `{patches.call}` {', '.join(describe_choice(*one) for one in labelled)}"
    alike = " and not ".join(" and ".join(labels) for labels, _ in labelled if len(labels) > 1)
    return f"{text}; this call does not tell {alike} apart" if alike else text


def describe_choice(labels: Sequence[str], answer: Answer) -> str:
    """One of the choices: `A gives 0`, `B and C raise KeyError`."""
    verb = ("raise" if answer.raises else "give") + ("" if len(labels) > 1 else "s")
    return f"{' and '.join(labels)} {verb} {answer.raises or answer.literal}"


def answered_test(patches: CompetingPatches, answer: str) -> TestCase | None:
    """The test made of an answer; `None` for `skip`.

    Raises:
        BadAnswer: The answer is no label, no literal, and not `raises` with an exception's name.
    """
    text = answer.strip()
    if len(text) > LONGEST_ANSWER:
        raise BadAnswer(f"An answer has at most {LONGEST_ANSWER:,} characters: write the value.")
    if text.lower() == SKIP:
        return None
    labelled = {one.label: Answer(one.gives, one.raises) for one in patches.behaviours}
    literal, exception = labelled.get(text.upper()) or Answer.read(text)
    if exception:
        if not is_exception(exception):
            raise BadAnswer(f"Python has no exception called {exception!r}.")
        return Raises(
            name=f"{patches.call} raises {exception}", origin="user", call=patches.call,
            exception=exception,
        )
    means_text = _all_give_text(patches)
    try:
        tree = parse_expression(literal)
        value = ast.literal_eval(tree)
        # Unparsing adds parentheses to a tuple: in `assert f() == 1, 2` the 2 is the message.
        expected = ast.unparse(tree)
        if means_text and not isinstance(value, str) and expected not in SINGLE:
            expected = repr(literal)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        expected = repr(literal) if means_text and literal else ""
    if not expected:
        raise BadAnswer(
            f"{answer!r} is none of {', '.join(labelled)} and no Python literal. "
            "Write a label, a value such as 0, None or 'text', `raises ValueError`, or `skip`."
        )
    if expected in SINGLE:
        # `==` would also accept 1 for True.
        condition = f"{patches.call} is {expected}"
        return Script(name=condition, origin="user", code=f"assert {condition}")
    return Example(
        name=f"{patches.call} == {expected}", origin="user", call=patches.call, expected=expected
    )


def answer_warning(patches: CompetingPatches, answer: str) -> str:
    """Warns of an answer that may be a mistake: a label that may be a value, or a value that no
    patch gives; empty if it is neither. Raises `BadAnswer`."""
    test = answered_test(patches, answer)
    text = answer.strip()
    label = next((one for one in patches.behaviours if one.label == text.upper()), None)
    if label is not None and _all_give_text(patches) and answer_literal(label.gives) != (text, ):
        return (
            f"{text} counts as the label of a patch, which gives {label.gives}. To mean the "
            f"text, write {text!r}"
        )
    if test is None or matches_a_patch(patches, test):
        return ""
    name = test.name.removeprefix(f"{patches.call} ").removeprefix("== ")
    return f"None of the patches gives {name}, which would be kept as a new test"


def _all_give_text(patches: CompetingPatches) -> bool:
    """Whether all patches give texts, so that an answer without quotes may be one."""
    return all(
        (known := answer_literal(one.gives)) is not None and isinstance(known[0], str)
        for one in patches.behaviours
    )


def matches_a_patch(patches: CompetingPatches, test: TestCase) -> bool:
    """Whether one of the shown patches passes the test made of an answer."""
    return any(
        _fits({patches.call: f"!{one.raises}" if one.raises else one.gives}, test)
        for one in patches.behaviours
    )


def behaviours_passing(alternatives: Alternatives, test: TestCase) -> Alternatives:
    """The alternatives whose known answers satisfy the test made of an answer."""
    left = tuple(
        one for one in alternatives.behaviours
        if one.answers and _fits(dict(zip(alternatives.calls, one.answers, strict=True)), test)
    )
    return alternatives.model_copy(update={"behaviours": left})


def _fits(given: dict[str, str], test: TestCase) -> bool:
    match test:
        case Example(call=call, expected=expected):
            answer = given[call]
            if answer.startswith(("!", "~", "<")) or not answer:
                return False
            value = answer_literal(answer)
            return answer == expected or (value is not None and value == answer_literal(expected))
        case Raises(call=call, exception=exception):
            return given[call] == f"!{exception}"
        case Script(name=condition):
            return any(f"{call} is {answer}" == condition for call, answer in given.items())
    return True
