"""Repairs of a project by a small model, which is asked for one function at a time.

A small model does badly on long files, but often finds the mistake in one function if it is shown
only that, a failing test and the error.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass

from agent.core.domain import Report, Script, Solution, SuspectFile, TestCase
from agent.core.events import ModelCalled
from agent.core.settings import GENERATOR
from agent.core.trees import nodes_or_empty
from agent.iteration.context import Context
from agent.iteration.iterations import fingerprint
from agent.iteration.strategies import RepairInput
from agent.propose.branching import LIKELY_TOKENS, one_line_variants
from agent.propose.roles import SMALL_GENERATOR, ask_generator
from agent.propose.wording import failing_cases, first_failure_line, suspects_of
from llm import BadReply

MAX_FUNCTIONS = 8
"""Functions that are asked about, the most suspicious first."""
MAX_SECOND = 2
"""The maximum number of functions that are asked about for a second opinion."""
MAX_CHARS = 4000
"""The maximum characters of a function; a longer one is skipped."""
MAX_VARIANTS = 6
"""The maximum number of one-line variants of an answer."""
WARM = 0.7
"""The temperature of further answers about a function."""
MIN_TIME_SHARE = 0.25
"""No further function is asked about if less than this share of time is left."""
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class FunctionText:
    """A function of a file: lines `first` to `last`, from 1, and their text without indentation."""

    path: str
    name: str
    first: int
    last: int
    text: str
    indentation: str

    def replaced(self, solution: Solution, text: str) -> Solution:
        """The program with the function's text replaced."""
        file = solution.with_entry(self.path).text
        lines = file.split("\n")
        lines[self.first - 1 : self.last] = textwrap.indent(text, self.indentation).split("\n")
        return solution.with_texts({
            one.path: "\n".join(lines) if one.path == self.path else one.text
            for one in solution.files
        }, origin="model")


def suspicious_functions(
    solution: Solution, suspected: Sequence[SuspectFile]
) -> Iterator[FunctionText]:
    """Yields the suspicious functions that are short enough, the most suspicious first."""
    rows = sorted(
        ((file.suspicion * one.suspicion, file.file, one)
         for file in suspected for one in file.functions),
        key=lambda row: -row[0],
    )
    for _, path, one in rows:
        text = solution.with_entry(path).text
        for first, last in _function_lines(text, one.name):
            if first <= one.line <= last:
                lines = text.split("\n")[first - 1 : last]
                indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
                shown = textwrap.dedent("\n".join(lines))
                if len(shown) <= MAX_CHARS:
                    yield FunctionText(path, one.name, first, last, shown, indentation)
                break


def _function_lines(text: str, name: str) -> Iterator[tuple[int, int]]:
    """The first and last line of each function of this name, decorators included."""
    for node in nodes_or_empty(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield first, node.end_lineno or node.lineno


def _text_of(text: str, name: str) -> str | None:
    """The first function of this name, without indentation."""
    for first, last in _function_lines(text, name):
        return textwrap.dedent("\n".join(text.split("\n")[first - 1 : last]))
    return None


def function_in(answer: str, name: str) -> str:
    """The first function of this name in an answer's fenced blocks; raises `BadReply` if none
    compiles."""
    for code in _BLOCK.findall(answer):
        if (found := _text_of(code, name)) is not None:
            return found
    raise BadReply(f"expected a fenced block with the function {name}, got none that compiles")


def source_of(case: TestCase) -> str:
    """The text of a test without the rest of its file."""
    if not isinstance(case, Script) or not case.node:
        return case.code
    found = _text_of(case.code, case.node.rpartition("::")[2].partition("[")[0])
    return case.code if found is None else found


async def rewritten_functions(
    attempt: RepairInput, ctx: Context
) -> AsyncGenerator[tuple[Solution, Report], None]:
    """Asks for each suspicious function, and yields the repaired programs, each with a report on
    the tests that failed; one-line variants only if they pass. Raises an `LlmError`."""
    failing = failing_cases(attempt.tests, attempt.report)
    question = {
        "tests": "\n\n".join(dict.fromkeys(map(source_of, failing[:1]))),
        "failures": first_failure_line(attempt.report),
    }
    known = {fingerprint(attempt.solution)}
    suspected = suspects_of(ctx.log(), attempt.solution)
    chosen = [*suspicious_functions(attempt.solution, suspected)][:MAX_FUNCTIONS]
    # A later iteration asks about the next functions, and then again for other answers.
    before = sum(
        isinstance(one.event, ModelCalled) and one.event.role == GENERATOR for one in ctx.log()
    )
    most = MAX_SECOND if attempt.is_second_opinion else len(chosen)
    for number in range(before, before + most if chosen else 0):
        again, place = divmod(number, len(chosen))
        part = chosen[place]
        if ctx.seconds_left < ctx.settings.budget_s * MIN_TIME_SHARE:
            return

        def read(text: str, name: str = part.name) -> str:
            return function_in(text, name)

        try:
            text, request, reply = await ask_generator(
                ctx, "function", question | {"code": part.text, "place": f"{part.name}, in "
                f"{part.path}"}, read, WARM if again else None, prompt=SMALL_GENERATOR,
                seed=number, alternatives=0 if again else LIKELY_TOKENS,
            )
        except BadReply:
            continue
        stream = one_line_variants(ctx, request, reply, MAX_VARIANTS)
        async with aclosing(_numbered_answers(text, stream)) as texts:
            async for variant, one in texts:
                with suppress(BadReply):
                    text = read(f"```python\n{one}\n```") if variant else one
                    candidate = part.replaced(attempt.solution, text)
                    if fingerprint(candidate) in known:
                        continue
                    known.add(fingerprint(candidate))
                    report = await ctx.judge(candidate, failing, verify_passes=False)
                    if report.passed or not variant:
                        yield candidate, report


async def _numbered_answers(
    first: str, others: AsyncGenerator[str, None]
) -> AsyncGenerator[tuple[int, str], None]:
    variant = 0
    yield variant, first
    async for other in others:
        variant += 1
        yield variant, other
