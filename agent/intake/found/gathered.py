"""All tests that can be found in what a user brings: as tests, in the program, in the words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent.domain import REST, File, Script, TestCase
from agent.intake.asked.vacuity import vacuous
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
    checking_helpers,
    checks,
    is_definition,
    parsed,
    unique,
    visible_names,
    where,
)
from agent.intake.program import tests_from_program
from agent.pytest_settings import CONFIGURATIONS


@dataclass(frozen=True)
class TestText:
    """Tests as text, and what to call them when they are wrong."""

    __test__ = False

    text: str
    name: str = "the tests"
    path: str = ""
    """Where the file lies in its project; empty for what was pasted."""

    def fails_to(self, verb: str) -> str:
        """`The tests do not parse`, `test_sum.py does not parse`."""
        if self.name == "the tests":
            return f"The tests do not {verb}"
        return f"{self.name} does not {verb}"


@dataclass(frozen=True)
class Gathered:
    """The tests that test something, each by a name of its own, and what to know of the others."""

    tests: tuple[TestCase, ...]
    notices: tuple[str, ...]


def gathered(
    code: str | None, entry: str, stem: str, words: str, tests: Sequence[TestText],
    support: Sequence[File], deselect: Sequence[str],
) -> Gathered:
    """The tests of a program (its text, its path, its module), of the words and of texts; without
    those to `deselect`. Raises `NotFixable` for tests that do not parse or test nothing."""
    program = code or ""
    around = [
        file.text for file in support
        if PurePosixPath(file.path).name in ("conftest.py", *CONFIGURATIONS)
    ]
    notices: list[str] = []
    given = [one for test in tests for one in _of_text(test, program, entry, around, notices)]
    if tests and not given:
        raise NotFixable(
            "invalid_tests",
            "The tests hold no code. Write an assert, such as: assert f(2) == 4",
        )
    found = [(None, test) for test in tests_from_words(words, visible_names(program) if code
                                                       is not None else None)]
    if code is not None:
        found = [*_of_program(program, entry, files=any(map(_of_file, given))), *found]
    every = _distinct([*given, *found])
    reasons = vacuous(
        [test for _, test in every], program, stem,
        {test.name: line for line, test in every if line is not None},
    )
    _refuse_vacuous([test.name for _, test in every[: len(_distinct(given))]], reasons)
    notices += [
        f"The test {name!r} is left out, for it tests nothing: {reason}"
        for name, reason in reasons.items()
    ]
    kept = [test for _, test in every if test.name not in reasons]
    return Gathered(_selected(kept, deselect), tuple(notices))


def _of_text(
    test: TestText, program: str, entry: str, around: Sequence[str], notices: list[str]
) -> Sequence[Located]:
    """The tests of a text that the user gave as such: a session, a pytest file or a snippet."""
    try:
        body = parsed(test.text).body
    except SyntaxError as error:
        if has_prompts(test.text):
            return [(None, one) for one in tests_from_prompts(test.text, program)]
        raise NotFixable(
            "invalid_tests", f"{test.fails_to('parse')}: {where(error)}. Correct that first."
        ) from None
    if not (collected(body) or makes_tests(body)) and (
        not test.name.endswith(".py") or _checks_at_top(body)
    ):
        return located_tests(test.text, "user", program)
    text, line = borrowed(test.text, program, entry)
    if line:
        notices.append(
            f"{test.fails_to('import the program')}: the program's names are there, as if by "
            f"`{line}`."
        )
    notices += notices_of_file(text, test.name)
    return [
        (None, one.model_copy(update={"file": test.path}) if test.path else one)
        for one in tests_from_file(text, test.name, "user", around)
    ]


def _checks_at_top(body: Sequence[ast.stmt]) -> bool:
    helpers = checking_helpers(body)
    return any(
        not is_definition(node) and (checks(node, helpers) or is_bare_check(node))
        for node in body
    )


def _of_file(located: Located) -> bool:
    """Whether a test is one of a pytest file."""
    return isinstance(located[1], Script) and bool(located[1].node)


def _of_program(program: str, entry: str, *, files: bool) -> list[Located]:
    """Tests that stand in the program. Beside `files` of tests its own asserts are a part of its
    import and no tests of their own, as pytest has it."""
    return [
        *(
            (line, test) for line, test in tests_from_program(program, entry)
            if not files or line is None
        ),
        *((None, test) for test in tests_from_doctests(program)),
    ]


def _distinct(tests: Iterable[Located]) -> list[Located]:
    """The tests without repetitions, each by a name of its own."""
    taken: set[str] = set()
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
