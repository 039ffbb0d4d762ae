"""A model of three billion parameters on a GPU: speed, time to the first token, and memory.

    python -m evaluation.measures.gpu_model [--small]

The weights are random, of the shape of Llama 3.2 3B, and an oracle chooses the tokens: every
forward is run, and its answer is the right program. Needs this repository, torch, transformers,
accelerate, bitsandbytes and llguidance, and downloads nothing. Prints a line of JSON for each way
to hold the weights and to decode. `--small` runs a tiny model wherever it is, to try this out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.measures.local_model import pairs, repair
from llm.keys import NO_KEY
from llm.types import Request

if TYPE_CHECKING:
    from evaluation.measures.tiny_model import Oracle
    from llm.providers.huggingface.decoding import LocalModel

SHAPE = {
    "hidden_size": 3_072, "intermediate_size": 8_192, "num_hidden_layers": 28,
    "num_attention_heads": 24, "num_key_value_heads": 8, "max_position_embeddings": 131_072,
    "head_dim": 128,
}
WIDTH = 128_256
PROGRAMS = 6


@dataclass(frozen=True)
class Speed:
    """Medians over a few programs."""

    weights: str
    way: str
    tokens_s: float
    first_s: float | None
    tokens_forward: float
    memory_mib: int
    load_s: float
    wrong: int
    """Answers that were not what the oracle dictated: 0, or the figures mean nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures each way to hold the weights, and each way to decode."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.gpu_model")
    parser.add_argument("--small", action="store_true", help="a tiny model, also without a GPU")
    small = parser.parse_args(arguments).small
    import torch

    if not small and not torch.cuda.is_available():
        print("skipped: there is no CUDA device here; --small tries it out without one")
        return 0
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "processor"
    print(f"{device}, torch {torch.__version__}, {'tiny' if small else '3B'} random weights")
    with tempfile.TemporaryDirectory() as folder:
        _save(Path(folder), small)
        for speed in _measured(folder):
            print(json.dumps(asdict(speed)), flush=True)
    return 0


def _save(folder: Path, small: bool) -> None:
    """Random weights in half precision, in the form in which any model is downloaded."""
    import torch

    from evaluation.measures.tiny_model import large_tokenizer, network, tokenizer

    words = tokenizer() if small else large_tokenizer()
    torch.set_default_dtype(torch.float16)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        made = network(len(words)) if small else network(WIDTH, tie_word_embeddings=True, **SHAPE)
    torch.set_default_dtype(torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words.save_pretrained(folder)
        made.save_pretrained(folder)


def _measured(folder: str) -> Iterator[Speed]:
    import torch

    from evaluation.measures.tiny_model import Oracle
    from llm.providers.huggingface.hardware import Hardware, this_hardware
    from llm.providers.huggingface.loading import load

    here = this_hardware()
    as_t4 = Hardware("cuda", (7, 5), free_mib=here.free_mib) if here.device == "cuda" else here
    for four_bit, hardware in ((False, as_t4), (False, here), (True, here)):
        if four_bit and find_spec("bitsandbytes") is None:
            print("4 bits: skipped, bitsandbytes is not installed")
            continue
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        model = load(folder, NO_KEY, four_bit, hardware)
        oracle = Oracle(model.network)
        ways = {
            "plain generate": None,
            "ours, nothing kept": replace(model, lookup=0, reuse=False),
            "ours, system prompt kept": replace(model, lookup=0),
            "ours, kept and copied": model,
        }
        for way, decoder in ways.items():
            yield _speed(model, oracle, decoder, way)
        del model, ways, decoder, oracle


def _speed(model: LocalModel, oracle: Oracle, decoder: LocalModel | None, way: str) -> Speed:
    import torch

    from llm.providers.huggingface.chat import tokens_of

    rates: list[float] = []
    firsts: list[float] = []
    a_forward: list[float] = []
    wrong = 0
    for number, (buggy, fixed, tests) in enumerate(islice(pairs(), PROGRAMS + 1)):
        asked = repair(buggy, tests)
        question = tokens_of(model.tokenizer, asked)
        wanted = f"```python\n{fixed}```\n"
        script = model.tokenizer(wanted, add_special_tokens=False).input_ids
        oracle.say([*script, *model.ends], len(question))
        started = time.perf_counter()
        if decoder is None:
            text, first = _generated(model, question, len(script)), None
        else:
            text, first = _answered(decoder, asked)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        wall = time.perf_counter() - started
        wrong += text != wanted
        if number:  # the first one warms up
            rates.append(len(script) / wall)
            a_forward.append(len(script) / oracle.forwards)
            firsts += [] if first is None else [first]
    fitted = model.fitted
    peak = torch.cuda.max_memory_allocated() // 2**20 if torch.cuda.is_available() else 0
    return Speed(
        f"{fitted.dtype}{', 4 bits' if fitted.four_bit else ''}", way, statistics.median(rates),
        statistics.median(firsts) if firsts else None, statistics.median(a_forward),
        peak or fitted.memory_mib, fitted.load_s, wrong,
    )


def _generated(model: LocalModel, question: Sequence[int], most: int) -> str:
    import torch

    ids: Any = torch.tensor([question], device=model.network.device)
    made = model.network.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=most, do_sample=False,
        eos_token_id=list(model.ends), pad_token_id=model.ends[0],
    )
    return str(model.tokenizer.decode(made[0, len(question):], skip_special_tokens=True))


def _answered(decoder: LocalModel, asked: Request) -> tuple[str, float | None]:
    pieces: list[str] = []
    ended = decoder.answer(asked, pieces.append, threading.Event())
    return "".join(pieces), ended.first_s


if __name__ == "__main__":
    sys.exit(main())
