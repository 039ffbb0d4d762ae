"""A local model: JSON under a grammar, and copied programs.

The weights are random, or an oracle's that always answers right: what is counted is the decoder's
part, never a model's cleverness.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm.types import Code, Json, Message, Request

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

NEEDED = ("torch", "transformers", "llguidance")
ANSWERS = 100
"""Answers under each schema, of each way to decode."""
ROWS = 20
"""Programs of each suite."""
WAYS = ((5, 5), (10, 5))
"""Tokens that one forward verifies, and tokens by which a place to copy from is found."""
BENCH = Path(__file__).parent.parent / "bench"
SCHEMAS: dict[str, dict[str, object]] = json.loads(
    (BENCH / "schemas.json").read_text(encoding="utf-8")
)
"""Answers such as the thinking roles give, small and bounded."""
SYSTEM = (
    "You repair Python programs. Answer with exactly one fenced block that holds the whole "
    "program, and nothing else."
)


def local_model() -> Iterator[str]:
    """Validity under a grammar, its price a token, tokens a forward."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield f"skipped: {', '.join(missing)} not installed; pip install -e '.[local]'"
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield from validity()
        yield from masks()
        yield from copying()
    finally:
        torch.set_num_threads(threads)


def made(tokenizer: Any, network: Any, lookup: int = 0) -> LocalModel:
    """A network in memory as a model that answers."""
    from llm.providers.huggingface.loading import local_model as in_memory
    from llm.providers.huggingface.status import LoadedModel

    fitted = LoadedModel("cpu", "float32", False, network.get_memory_footprint() // 2**20)
    return in_memory("random", network, tokenizer, fitted, lookup)


def validity() -> Iterator[str]:
    """How many answers of random weights are valid, sampled, and greedy with lookup."""
    from evaluation.measures.tiny_model import network, tokenizer

    words = tokenizer()
    model = made(words, network(len(words)))
    looking = replace(model, lookup=10, copied=(Json,))
    sampled = looked_up = same = 0
    for schema in SCHEMAS.values():
        for seed in range(ANSWERS):
            question = f'Judge number {seed * 7_919}: {{"approve": true, "sure": {seed}}}.'
            request = Request(
                "critic", "", (Message("user", question),), Json(schema), max_tokens=300
            )
            sampled += _valid(_said(model, replace(request, temperature=1.0)), schema)
            copied = _said(looking, request)
            looked_up += _valid(copied, schema)
            same += copied == _said(model, request)
    most = ANSWERS * len(SCHEMAS)
    yield f"random weights, sampled: {sampled} of {most} answers valid under {len(SCHEMAS)} schemas"
    yield (
        f"random weights, greedy with lookup: {looked_up} of {most} valid, {same} the same as "
        "without lookup"
    )


def _said(model: LocalModel, request: Request) -> str:
    pieces: list[str] = []
    model.answer(request, pieces.append, threading.Event())
    return "".join(pieces)


def _valid(text: str, schema: dict[str, object]) -> bool:
    from jsonschema import Draft202012Validator

    try:
        value = json.loads(text)
    except ValueError:
        return False
    return Draft202012Validator(schema).is_valid(value)


DIAGNOSIS = {
    "kind": "wrong value", "lines": [12, 13], "cause": "The last item of the list is left out",
    "other": "none",
}


def masks() -> Iterator[str]:
    """What a grammar costs over a large vocabulary."""
    import torch

    from evaluation.measures.tiny_model import large_tokenizer
    from llm.providers.huggingface.constrain import Grammars

    words = large_tokenizer()
    width = 128_256
    started = time.perf_counter()
    grammars = Grammars(words, [1], width)
    ready = time.perf_counter() - started
    tokens = words(json.dumps(DIAGNOSIS), add_special_tokens=False).input_ids
    compiled: list[float] = []
    took: list[float] = []
    scores = torch.zeros((1, width))
    for _ in range(20):
        started = time.perf_counter()
        constraint = grammars.constraint(SCHEMAS["diagnosis"], 0, 400)
        compiled.append(time.perf_counter() - started)
        for at in range(len(tokens)):
            ids = torch.tensor([tokens[:at]], dtype=torch.long)
            started = time.perf_counter()
            constraint(ids, scores)
            took.append(time.perf_counter() - started)
    twentieths = statistics.quantiles(took, n=20)
    yield (
        f"a grammar over {width:,} tokens: tokenizer read in {ready:.1f} s once, compiled in "
        f"{statistics.median(compiled) * 1e3:.2f} ms, a token's mask p50 "
        f"{statistics.median(took) * 1e3:.2f} ms, p95 {twentieths[-1] * 1e3:.2f} ms"
    )


def pairs() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Broken program, right program, tests, of the project's own suites."""
    for name in ("seen", "unseen"):
        lines = (BENCH / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines[:ROWS]:
            row = json.loads(line)
            yield row["buggy"], row["fixed"], tuple(row["tests"])


def repair(buggy: str, tests: Sequence[str]) -> Request:
    """A question as a repair asks it."""
    shown = "\n".join(tests)
    text = f"The program:\n```python\n{buggy}```\nIt fails some of these tests:\n{shown}\n"
    return Request("generator", SYSTEM, (Message("user", text),), Code(), max_tokens=1_000)


def copying() -> Iterator[str]:
    """Every forward is run; only the choice of the token is the right program's."""
    from evaluation.measures.tiny_model import Oracle, large_tokenizer, network
    from llm.providers.huggingface.chat import tokens_of

    words = large_tokenizer()
    net = network(len(words))
    oracle = Oracle(net)
    plain = made(words, net)
    tokens, wrong = 0, 0
    forwards = dict.fromkeys(WAYS, 0)
    for buggy, fixed, tests in pairs():
        asked = repair(buggy, tests)
        wanted = f"```python\n{fixed}```\n"
        script = words(wanted, add_special_tokens=False).input_ids
        oracle.say([*script, *plain.ends], len(tokens_of(words, asked)))
        tokens += len(script)
        for lookup, longest in WAYS:
            model = replace(plain, lookup=lookup, longest=longest)
            pieces: list[str] = []
            ended = model.answer(asked, pieces.append, threading.Event())
            forwards[lookup, longest] += ended.forwards
            wrong += "".join(pieces) != wanted
    rates = ", ".join(
        f"{tokens / count:.2f} (verifying {lookup}, matching {longest})"
        for (lookup, longest), count in forwards.items()
    )
    yield f"tokens a forward when a repair is written by copying: {rates}"
    yield f"of {len(WAYS)} ways to copy, over {tokens:,} tokens, {wrong} answers differ"
