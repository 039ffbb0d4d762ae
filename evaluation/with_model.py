"""Compares `heal` with the model alone on one suite: one plain question, and the best of several.

    LLM_PROVIDER=llamacpp GGUF_MODEL=FILE python -m evaluation.with_model --suite FILE --out DIR

The terminal command heals each case, as in `evaluation.claims`. Then the generator's model is asked
a plain question repeatedly, first at temperature 0, then at 0.7 with different seeds, until it has
used as many tokens as `heal`. The first answer is *one-shot*; the first answer that passes the
user's tests is *best of n*. Each is checked with the hidden truth. Suites: `cases`.

For each method the command prints right, wrong (passing but incorrect), precision with its 95 %
interval (Wilson), and medians of calls, tokens and seconds. `DIR/with_model.jsonl` has a line for
each case, and `DIR/traces.jsonl` each plain question and answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from agent.core.measures import interval
from agent.core.settings import GENERATOR, Settings
from agent.iteration.models import LOCAL_USER, Models
from evaluation.cases import BadSuite, Case, read_cases
from evaluation.claims import Claim, heal_case
from evaluation.lines import JsonLinesFile
from llm import Message, Provider, Reply, Request
from llm.asking.answers import parse_code
from llm.errors import BadReply

WARM, MAX_ANSWERS, MAX_TOKENS = 0.7, 8, 1_024
SYSTEM = "You are a helpful assistant."
ANSWER_FORMAT = "Give the whole program and nothing else."


class MethodResult(TypedDict):
    right: bool | None
    """`None` if no program passed the user's tests."""
    calls: int
    tokens: int
    seconds: float


class CaseResult(TypedDict):
    id: str
    ways: dict[str, MethodResult]
    """By the names of `METHODS`."""
    claim: Claim


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.with_model", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--suite", type=Path, required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth case")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose id contains this")
    args = parser.parse_args()
    models = Models(Settings.from_env())
    choice = models.plan().of(GENERATOR)
    if choice is None:
        parser.error("no model is configured: set LLM_PROVIDER")
    try:
        cases = [one for one in read_cases(args.suite)[:: args.every] if args.only in one.id]
    except BadSuite as error:
        parser.error(str(error))
    done: JsonLinesFile[CaseResult] = JsonLinesFile(args.out / "with_model.jsonl")
    for case in cases:
        if case.id not in done.by_id:
            found = asyncio.run(_measure(case, args, models))
            done.add(found)
            results = (f"{name} {one['right']}" for name, one in found["ways"].items())
            print(case.id, *results, file=sys.stderr, flush=True)
    for line in table([done.by_id[case.id] for case in cases]):
        print(line)
    return 0


METHODS = ("one_shot", "best_of_n", "heal")


async def _measure(case: Case, args: argparse.Namespace, models: Models) -> CaseResult:
    claim = await asyncio.to_thread(heal_case, case, args.suite.stem)
    choice = models.plan().of(GENERATOR)
    assert choice is not None
    provider = models.provider(choice, LOCAL_USER)
    try:
        answers = [one async for one in _plain_answers(case, provider, claim["tokens"], args.out)]
    finally:
        await provider.close()
    first = answers[0]
    best = next((one for one in answers if one["right"] is not None), answers[-1])
    used = answers[: answers.index(best) + 1]
    return {"id": case.id, "claim": claim, "ways": {
        "one_shot": first,
        "best_of_n": {
            "right": best["right"], "calls": len(used),
            "tokens": sum(one["tokens"] for one in used),
            "seconds": sum(one["seconds"] for one in used),
        },
        "heal": {
            "right": claim["right"], "calls": claim["calls"], "tokens": claim["tokens"],
            "seconds": claim["seconds"],
        },
    }}


async def _plain_answers(
    case: Case, provider: Provider, max_tokens: int, out: Path
) -> AsyncIterator[MethodResult]:
    """Yields the results of plain questions until one passes or `max_tokens` are used."""
    used = 0
    for number in range(MAX_ANSWERS):
        if number and used >= max_tokens:
            return
        request = Request(
            GENERATOR, SYSTEM, (Message("user", question(case)),), max_tokens=MAX_TOKENS,
            temperature=WARM if number else 0.0, seed=number, deadline_s=300.0,
        )
        started, reply = time.monotonic(), None
        async for piece in provider.stream(request):
            reply = piece if isinstance(piece, Reply) else reply
        assert reply is not None
        try:
            text = parse_code(reply.text)
        except BadReply:
            text = ""
        passes = bool(text) and await asyncio.to_thread(case.passes, {"program.py": text})
        right = await asyncio.to_thread(case.is_right, {"program.py": text}) if passes else None
        used += reply.usage.total
        with (out / "traces.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({
                "id": case.id, "number": number, "question": question(case), "answer": reply.text,
                "passes": passes, "right": right,
            }) + "\n")
        yield {"right": right, "calls": 1, "tokens": reply.usage.total,
               "seconds": time.monotonic() - started}
        if passes:
            return


def question(case: Case) -> str:
    """The question that a user would ask a model."""
    if case.mode == "task":
        return f"{case.task}\n\nWrite the program in Python. {ANSWER_FORMAT}"
    text = case.test_text
    tests = f"These tests should pass:\n\n```python\n{text}\n```\n\n" if text else ""
    failure = case.failure()
    error = f"The error is:\n{failure}\n\n" if failure else ""
    return (
        f"This Python program has a bug:\n\n```python\n{case.program}\n```\n\n{tests}"
        f"{error}Write the corrected program. {ANSWER_FORMAT}"
    )


def table(found: Sequence[CaseResult]) -> Iterator[str]:
    every = len(found)
    yield f"{every} cases"
    yield "method      right   wrong   precision (95 %)       calls   tokens   seconds (medians)"
    for name in METHODS:
        results = [one["ways"][name] for one in found]
        right = sum(one["right"] is True for one in results)
        wrong = sum(one["right"] is False for one in results)
        low, high = interval(right, right + wrong)
        yield (
            f"{name:10} {right:5} {wrong:7}   {right / max(1, right + wrong):5.0%} "
            f"({low:.0%} to {high:.0%}) {statistics.median(one['calls'] for one in results):10.1f} "
            f"{statistics.median(one['tokens'] for one in results):8.0f} "
            f"{statistics.median(one['seconds'] for one in results):8.1f}"
        )
    claims = [one["claim"] for one in found if one["claim"]["outcome"] == "healed"]
    any_right = sum(any(way["right"] for way in one["ways"].values()) for one in found)
    yield (f"called HEALED: {len(claims)}, right {sum(one['right'] is True for one in claims)}; "
           f"right by either: {any_right}")


if __name__ == "__main__":
    raise SystemExit(main())
