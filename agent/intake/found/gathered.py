"""All tests that can be found in what a user brings: as tests, in the program, in the words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent.core.domain import REST, Script, TestCase
from agent.core.pytest_settings import CONFIGURATIONS
from agent.intake.asked.vacuity import vacuous
from agent.intake.brought import Brought, TestText
from agent.intake.errors import BadInput, NotFixable
from agent.intake.found.borrowing import borrowed
from agent.intake.found.doctests import has_prompts, tests_from_doctests, tests_from_prompts
from agent.intake.found.pytest_files import (
    collected,
    makes_tests,
    notices_of_file,
    tests_from_file,
)
from agent.intake.found.snippets import Located, is_bare_check, located_tests
from agent.intake.found.words import tests_from_words
from agent.intake.parsing import (
    Definition,
    checking_helpers,
    checks,
    parsed,
    unique,
    visible_names,
    where,
)
from agent.intake.program import tests_from_program


@dataclass(frozen=True)
class Gathered:
    """The tests that test something, each by a name of its own, and what to know of the others."""

    tests: tuple[TestCase, ...]
    notices: tuple[str, ...]


def gathered(brought: Brought) -> Gathered:
    """The tests of the program, of the words and of texts, without those to deselect. Raises
    `NotFixable` for tests that do not parse or test nothing."""
    notices: list[str] = []
    given = [one for test in brought.tests for one in _of_text(test, brought, notices)]
    if brought.tests and not given:
        raise NotFixable(
            "invalid_tests",
            "The tests hold no code. Write an assert, such as: assert f(2) == 4",
        )
    names = None if brought.code is None else visible_names(brought.program)
    every = _distinct([
        *given, *_of_program(brought, files=any(map(_of_file, given))),
        *((None, test) for test in tests_from_words(brought.words, names)),
    ])
    reasons = vacuous(
        [test for _, test in every], brought.program, brought.stem,
        {test.name: line for line, test in every if line is not None},
    )
    _refuse_vacuous([test.name for _, test in every[: len(_distinct(given))]], reasons)
    notices += [
        f"The test {name!r} is left out, for it tests nothing: {reason}"
        for name, reason in reasons.items()
    ]
    kept = [test for _, test in every if test.name not in reasons]
    return Gathered(_selected(kept, brought.deselect), tuple(notices))


def _of_text(test: TestText, brought: Brought, notices: list[str]) -> Sequence[Located]:
    """The tests of a text that the user gave as such: a session, a pytest file or a snippet."""
    try:
        body = parsed(test.text).body
    except SyntaxError as error:
        if has_prompts(test.text):
            return [(None, one) for one in tests_from_prompts(test.text, brought.program)]
        raise NotFixable(
            "invalid_tests", f"{test.fails_to('parse')}: {where(error)}. Correct that first; "
            "a test is a line like `assert f(1) == 2`."
        ) from None
    if not (collected(body) or makes_tests(body)) and (
        not test.name.endswith(".py") or _checks_at_top(body)
    ):
        return located_tests(test.text, "user", brought.program)
    text, line = borrowed(test.text, brought.program, brought.entry)
    if line:
        notices.append(
            f"{test.fails_to('import the program')}: the program's names are there, as if by "
            f"`{line}`."
        )
    notices += notices_of_file(text, test.name)
    around = [
        file.text for file in brought.support
        if PurePosixPath(file.path).name in ("conftest.py", *CONFIGURATIONS)
    ]
    return [
        (None, one.model_copy(update={"file": test.path}) if test.path else one)
        for one in tests_from_file(text, test.name, around)
    ]


def _checks_at_top(body: Sequence[ast.stmt]) -> bool:
    helpers = checking_helpers(body)
    return any(
        not isinstance(node, Definition) and (checks(node, helpers) or is_bare_check(node))
        for node in body
    )


def _of_file(located: Located) -> bool:
    """Whether a test is one of a pytest file."""
    return isinstance(located[1], Script) and bool(located[1].node)


def _of_program(brought: Brought, *, files: bool) -> list[Located]:
    """Tests that stand in the program. Beside `files` of tests its own asserts are a part of its
    import and no tests of their own, as pytest has it."""
    own = tests_from_program(brought.program, brought.entry)
    return [
        *((line, test) for line, test in own if not files or line is None),
        *((None, test) for test in tests_from_doctests(brought.program)),
    ]


def _distinct(tests: Iterable[Located]) -> list[Located]:
    """The tests without repetitions, each by a name of its own."""
    taken: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    distinct: list[Located] = []
    for line, test in tests:
        key = (test.code, test.node if isinstance(test, Script) else "")
        if key not in seen:
            seen.add(key)
            named = test.model_copy(update={"name": unique(test.name, taken)})
            distinct.append((line, named))
    return distinct


def _refuse_vacuous(given: Sequence[str], reasons: dict[str, str]) -> None:
    """Refuses tests that were given as such where none of them tests anything."""
    if given and all(name in reasons for name in given):
        sentences = list(dict.fromkeys(reasons[name] for name in given))
        more = f" (and {len(sentences) - 3} more)" if len(sentences) > 3 else ""
        raise NotFixable(
            "invalid_tests",
            f"The tests test nothing: {'; '.join(sentences[:3])}{more}. Write an assert that "
            "calls the program, such as: assert f(2) == 4",
        )


def _selected(tests: Sequence[TestCase], deselect: Sequence[str]) -> tuple[TestCase, ...]:
    """The tests without those to deselect, by name or by a pytest node id. Raises `BadInput` for
    an id that can belong to none of them."""
    if not deselect:
        return tuple(tests)
    ids = [one.partition("::")[2] if one.partition("::")[0].endswith(".py") else one
           for one in deselect]
    known = {test.name for test in tests}
    files = any(isinstance(test, Script) and test.node == REST for test in tests)
    for one in ids:
        if one not in known and not files:
            raise BadInput(f"deselect {one}: no test has that id.")
    return tuple(
        test.model_copy(update={"without": (*test.without, *ids)})
        if isinstance(test, Script) and test.node else test
        for test in tests
        if not any(test.name == one or test.name.startswith(f"{one}::") for one in ids)
    )
