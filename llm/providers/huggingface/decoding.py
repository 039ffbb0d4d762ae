"""One loaded model, and how it answers: all of this runs in the worker's thread.

The loop is the library's own `generate`. Around it: the system prompt's keys and values are
computed once; a program that is mostly copied is written by prompt lookup, which proposes what
followed the last words where they stood before, and verifies ten such tokens in one run of the
network; JSON is written under a grammar.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from llm.errors import ContextOverflow, Overloaded, ProviderDown
from llm.providers.huggingface.chat import shared_tokens, tokens_of
from llm.providers.huggingface.constrain import Grammars
from llm.providers.huggingface.listening import Fence, Listener
from llm.providers.huggingface.prefixes import SHORTEST, Prefixes
from llm.providers.huggingface.status import Ended, LoadedModel
from llm.types import Code, Json, Output, Request, Usage


class _Step:
    """Called by `generate` after each run of the network, with all tokens so far: hands on the new
    ones, and says whether to stop. (A streamer would be told later than this, and could not.)"""

    def __init__(self, listener: Listener, asked: int, cancelled: threading.Event) -> None:
        self._listener = listener
        self._heard = asked
        self._cancelled = cancelled
        self.forwards = 0

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        self.forwards += 1
        self._listener.hear(input_ids[0, self._heard:].tolist())
        self._heard = input_ids.shape[1]
        over = self._listener.finish is not None or self._cancelled.is_set()
        return torch.full((input_ids.shape[0],), over, device=input_ids.device)


@dataclass
class LocalModel:
    """A network, its tokenizer, and what is kept between calls."""

    name: str
    network: Any  # the library's classes are not typed
    tokenizer: Any
    counting: Any
    """A tokenizer of its own for `count`, which another thread uses."""
    ends: tuple[int, ...]
    window: int | None
    sampling: dict[str, Any]
    """`top_k` and `top_p` as the model's makers advise."""
    lookup: int
    """How many copied tokens are verified at once; 0 for none."""
    fitted: LoadedModel
    longest: int = 5
    """Tokens by which a place to copy from is found; fewer are tried after it."""
    copied: tuple[type[Output], ...] = (Code,)
    """Kinds of answer that repeat much of their question, and are written by lookup."""
    reuse: bool = True
    """Whether system prompts are computed once."""
    _prefixes: Prefixes = field(init=False)
    _grammars: Grammars | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._prefixes = Prefixes(self.network, self.network.device.type)

    def answer(
        self, request: Request, emit: Callable[[str], None], cancelled: threading.Event
    ) -> Ended:
        """Writes the answer piece by piece to `emit`. Raises an `LlmError`."""
        try:
            with torch.inference_mode():
                return self._answer(request, emit, cancelled)
        except (torch.OutOfMemoryError, MemoryError) as error:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            raise Overloaded(
                f"{self.name} ran out of memory over a question; shorten it, or set USE_4BIT=1"
            ) from error
        except RuntimeError as error:
            raise ProviderDown(f"{self.name} failed in this process: {error}") from error

    def _answer(
        self, request: Request, emit: Callable[[str], None], cancelled: threading.Event
    ) -> Ended:
        started = time.monotonic()
        question = tokens_of(self.tokenizer, request)
        limit = self._room(request, len(question))
        first_s: list[float] = []

        def heard(text: str) -> None:
            first_s.append(time.monotonic() - started)
            emit(text)

        processors = LogitsProcessorList()
        prefix = shared_tokens(self.tokenizer, request, question) if self.reuse else ()
        cache, at_hand = None, False
        if len(prefix) >= SHORTEST:
            cache, at_hand = self._prefixes.copy_of(prefix)
        else:
            prefix = ()
        # Only what is not in the cache is handed over, with a mask over all: given both, prompt
        # lookup runs the whole question a second time behind what the cache holds, and answers
        # something else (transformers 5.24).
        asked = torch.tensor([question[len(prefix):]], device=self.network.device)
        if isinstance(request.output, Json):
            processors.append(
                self.grammars().constraint(request.output.schema, asked.shape[1], limit)
            )
        fence = Fence() if isinstance(request.output, Code) else None
        if request.frame is not None:
            heard(request.frame.opening)
            if fence is not None:
                fence.heard(request.frame.opening)
        listener = Listener(self._decode, self.ends, heard, fence)
        step = _Step(listener, asked.shape[1], cancelled)
        self.network.generate(
            asked,
            attention_mask=torch.ones((1, len(question)), dtype=torch.long, device=asked.device),
            cache=cache,
            generation_config=self._way(request, limit),
            logits_processor=processors,
            stopping_criteria=StoppingCriteriaList([step]),
        )
        finish = listener.finish or "length"
        full = finish == "length" and limit < request.max_tokens
        usage = Usage(
            input=len(question) - len(prefix), output=listener.tokens,
            read=len(prefix) if at_hand else 0, written=0 if at_hand else len(prefix),
        )
        return Ended(
            finish, usage, f"the window of {self.window} tokens was full" if full else "",
            step.forwards, first_s[0] if first_s else None, time.monotonic() - started,
            cancelled.is_set(),
        )

    def grammars(self) -> Grammars:
        """Made for the first answer in JSON, as it takes seconds for a large vocabulary."""
        if self._grammars is None:
            width = self.network.config.get_text_config().vocab_size
            self._grammars = Grammars(self.tokenizer, self.ends, width)
        return self._grammars

    def _decode(self, tokens: Any) -> str:
        return str(
            self.tokenizer.decode(
                tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )

    def _room(self, request: Request, asked: int) -> int:
        if self.window is None:
            return request.max_tokens
        if asked >= self.window:
            raise ContextOverflow(
                f"the question has {asked} tokens, and {self.name} takes {self.window} with the "
                "answer; shorten it"
            )
        return min(request.max_tokens, self.window - asked)

    def _way(self, request: Request, limit: int) -> GenerationConfig:
        """Greedy unless a temperature is given. A grammar and a choice among the likeliest few
        could leave nothing to choose from, so that JSON is sampled from all that it allows."""
        ways: dict[str, Any] = {
            "max_new_tokens": limit, "eos_token_id": list(self.ends),
            "pad_token_id": self.ends[0], "do_sample": False,
        }
        if request.temperature:
            among = {"top_k": 0} if isinstance(request.output, Json) else self.sampling
            ways |= {"do_sample": True, "temperature": request.temperature, **among}
        elif self.lookup and isinstance(request.output, self.copied):
            ways |= {
                "prompt_lookup_num_tokens": self.lookup,
                "max_matching_ngram_size": self.longest,
            }
        return GenerationConfig(**ways)
