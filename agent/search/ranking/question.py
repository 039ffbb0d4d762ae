"""The question that tells repairs apart, and the test that its answer becomes."""

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
from agent.core.trees import literal_value, parse_expression
from agent.search.confidence.model import natural
from agent.search.ranking.competing import MOST, distinguishing_call, is_exception

MAX_ASKED = 3
"""Questions of one run."""
LONGEST_ANSWER = 2_000
"""Characters of one: reading a value as Python writes it takes long for a long one."""
SKIP = "skip"
SINGLE = ("True", "False", "None")
"""Values that are compared by `is`."""


class BadAnswer(ValueError):
    """The answer fits no behaviour and is no value; the message says what would do."""


class Answer(NamedTuple):
    """What a call gives: a value as Python writes it, or the name of an exception; or neither,
    where nobody knows."""

    gives: str = ""
    raises: str = ""

    @classmethod
    def read(cls, text: str) -> Answer:
        """An answer as a person or a model writes it: a value, or `raises` and a name."""
        word, _, name = text.strip().partition(" ")
        return cls(raises=name.strip()) if word == "raises" else cls(text.strip())


def question(alternatives: Alternatives, base: Solution) -> CompetingPatches | None:
    """At most three confirmed behaviours and the smallest call that tells them apart; `None`
    where no person could tell them apart by reading, or the first is no natural patch. Without
    calls, as in a project, they are described by their edits and nobody can be asked."""
    calls = alternatives.calls
    if not calls:
        return CompetingPatches(call="", behaviours=tuple(
            _behaviour(label, one, "", base)
            for label, one in zip("ABC", alternatives.behaviours, strict=False)
        )) if len(alternatives.behaviours) > 1 else None
    known = [one for one in alternatives.behaviours if one.confirmed and natural(one.solution)]
    if not known or known[0] is not alternatives.behaviours[0]:
        return None
    own, *others = known
    differing = [
        one for one in others if distinguishing_call(calls, [own.answers, one.answers]) is not None
    ]
    shown = [own, *differing[: MOST - 1]]
    place = distinguishing_call(calls, [one.answers for one in shown])
    if place is None:
        return None
    return CompetingPatches(
        call=calls[place],
        behaviours=tuple(
            _behaviour(label, one, one.answers[place], base)
            for label, one in zip("ABC", shown, strict=False)
        ),
    )


def _behaviour(label: str, one: Alternative, answer: str, base: Solution) -> Behaviour:
    return Behaviour(
        label=label, **given(answer)._asdict(), solution=one.solution, note=one.note,
        diff=one.solution.diff(base),
    )


def given(answer: str) -> Answer:
    """An answer of a probe as a person reads it."""
    return Answer(raises=answer[1:]) if answer.startswith("!") else Answer(answer)


def choices(rivals: CompetingPatches) -> tuple[tuple[tuple[str, ...], Answer], ...]:
    """Each different answer once, behind the labels of those that give it."""
    labels: dict[Answer, list[str]] = {}
    for one in rivals.behaviours:
        labels.setdefault(Answer(one.gives, one.raises), []).append(one.label)
    return tuple((tuple(some), answer) for answer, some in labels.items())


def in_words(rivals: CompetingPatches) -> str:
    """What the behaviours do: ``for `f(3, [])` A gives 0, B gives None``, and which of them the
    call does not tell apart; without a call how they came about."""
    if not rivals.call:
        return "; ".join(f"{one.label}: {one.note}" for one in rivals.behaviours)
    labelled = choices(rivals)
    said = f"for `{rivals.call}` {', '.join(choice_in_words(*one) for one in labelled)}"
    alike = " and not ".join(" and ".join(labels) for labels, _ in labelled if len(labels) > 1)
    return f"{said}; it does not tell {alike} apart" if alike else said


def choice_in_words(labels: Sequence[str], answer: Answer) -> str:
    """One of the choices: `A gives 0`, `B and C raise KeyError`."""
    verb = ("raise" if answer.raises else "give") + ("" if len(labels) > 1 else "s")
    return f"{' and '.join(labels)} {verb} {answer.raises or answer.gives}"


def answered_test(rivals: CompetingPatches, answer: str) -> TestCase | None:
    """The test that an answer becomes; `None` where the question is skipped.

    An answer is a label, the right value as Python writes it, `raises` and the name of an
    exception, or `skip`. Raises `BadAnswer` for anything else.
    """
    text = answer.strip()
    if len(text) > LONGEST_ANSWER:
        raise BadAnswer(f"An answer has at most {LONGEST_ANSWER:,} characters: write the value.")
    if text.lower() == SKIP:
        return None
    labelled = {one.label: Answer(one.gives, one.raises) for one in rivals.behaviours}
    gives, exception = labelled.get(text.upper()) or Answer.read(text)
    if exception:
        if not is_exception(exception):
            raise BadAnswer(f"Python has no exception called {exception!r}.")
        return Raises(
            name=f"{rivals.call} raises {exception}", origin="user", call=rivals.call,
            exception=exception,
        )
    means_text = all(_is_text(one.gives) for one in rivals.behaviours)
    try:
        tree = parse_expression(gives)
        value = ast.literal_eval(tree)
        # As one expression: behind `==` the second value of `1, 2` would be the assert's message.
        expected = ast.unparse(tree)
        if means_text and not isinstance(value, str) and expected not in SINGLE:
            expected = repr(gives)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        expected = repr(gives) if means_text and gives else ""
    if not expected:
        raise BadAnswer(
            f"{answer!r} is none of {', '.join(labelled)} and no value as Python writes it; "
            "a value such as 0, None or 'text', `raises ValueError`, or `skip` would do."
        )
    if expected in SINGLE:
        # `==` would take 1 for True.
        said = f"{rivals.call} is {expected}"
        return Script(name=said, origin="user", code=f"assert {said}")
    return Example(
        name=f"{rivals.call} == {expected}", origin="user", call=rivals.call, expected=expected
    )


def _is_text(gives: str) -> bool:
    known, value = _value(gives)
    return known and isinstance(value, str)


def fitting(alternatives: Alternatives, test: TestCase) -> Alternatives:
    """The behaviours that the answered test leaves, as far as is known."""
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
            return answer == expected or _value(answer) == (True, _value(expected)[1])
        case Raises(call=call, exception=exception):
            return given[call] == f"!{exception}"
        case Script(name=said):
            return any(f"{call} is {answer}" == said for call, answer in given.items())
    return True


def _value(text: str) -> tuple[bool, object]:
    try:
        return True, literal_value(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False, None
