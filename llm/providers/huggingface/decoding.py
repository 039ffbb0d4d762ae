"""One loaded model, and how it answers: all of this runs in the worker's thread.

The loop is the library's own `generate`. A program that is mostly copied is written by prompt
lookup, which proposes what followed the last words where they stood before, and verifies ten such
tokens in one run of the network; JSON is written under a grammar.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from llm.errors import ContextOverflow, Overloaded, ProviderDown
from llm.providers.huggingface.chat import tokens_of
from llm.providers.huggingface.constrain import Grammars
from llm.providers.huggingface.host import Ended
from llm.types import Code, Finish, Json, Request, Usage

_BROKEN = "\ufffd"
"""What a tokenizer writes for bytes that are no character, or not one yet."""


class Listener:
    """Calls `emit` with each new piece of text, and knows how the answer ended.

    A run that verifies copied tokens brings several at once, of which some may lie behind the end;
    they are left out, so that an answer is the same however its tokens came.
    """

    def __init__(
        self, decode: Callable[[Sequence[int]], str], ends: Collection[int],
        emit: Callable[[str], None], closing: str = "",
    ) -> None:
        self._decode = decode
        self._ends = ends
        self._emit = emit
        self._closing = closing
        self._text = ""
        self._heard: list[int] = []
        self._shown = self._whole = 0  # two marks: text is decoded from the first, new behind both
        self.tokens = 0
        self.finish: Finish | None = None

    def hear(self, tokens: Iterable[int]) -> None:
        """Adds the token of one run of the network. An incomplete character is dropped."""
        for token in tokens:
            if self.finish is None:
                self._hear(token)

    def _hear(self, token: int) -> None:
        self.tokens += 1
        if token in self._ends:
            self.finish = "stop"
            return
        self._heard.append(token)
        # Some tokenizers write a token differently at the beginning of a text, so that the new
        # text is the difference of two, the first of which begins at a whole character.
        before = self._decode(self._heard[self._shown:self._whole])
        after = self._decode(self._heard[self._shown:])
        if len(after) <= len(before) or after.endswith(_BROKEN):
            return
        self._shown, self._whole = self._whole, len(self._heard)
        done, self._text = len(self._text), self._text + after[len(before):]
        start = max(0, done - len(self._closing))
        end = self._text.find(self._closing, start) if self._closing else -1
        if end >= 0:
            self._text = self._text[: end + len(self._closing)]
            self.finish = "stop"
        self._emit(self._text[done:])


class _Step:
    """Called by `generate` after each run of the network, with all tokens so far: hands on the new
    ones, and says whether to stop. (A streamer is called later and could not stop it.)"""

    def __init__(self, listener: Listener, asked: int, cancelled: threading.Event) -> None:
        self._listener = listener
        self._heard = asked
        self._cancelled = cancelled

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        self._listener.hear(input_ids[0, self._heard:].tolist())
        self._heard = input_ids.shape[1]
        over = self._listener.finish is not None or self._cancelled.is_set()
        return torch.full((input_ids.shape[0],), over, device=input_ids.device)


@dataclass
class LocalModel:
    """A network and its tokenizer."""

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
    words: str
    """Where and how it was loaded."""
    _grammars: Grammars | None = field(default=None, init=False)

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
        asked = torch.tensor([question], device=self.network.device)
        processors = LogitsProcessorList()
        if isinstance(request.output, Json):
            processors.append(self.grammars().constraint(request.output.schema, len(question)))
        closing = ""
        if request.frame is not None:
            emit(request.frame.opening)
            closing = request.frame.closing
        listener = Listener(self._decode, self.ends, emit, closing)
        self.network.generate(
            asked,
            attention_mask=torch.ones_like(asked),
            generation_config=self._way(request, limit),
            logits_processor=processors,
            stopping_criteria=StoppingCriteriaList([_Step(listener, len(question), cancelled)]),
        )
        finish = listener.finish or "length"
        full = finish == "length" and limit < request.max_tokens
        return Ended(
            finish, Usage(input=len(question), output=listener.tokens),
            f"the window of {self.window} tokens was full" if full else "",
            time.monotonic() - started, cancelled.is_set(),
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
        elif self.lookup and isinstance(request.output, Code):
            ways |= {"prompt_lookup_num_tokens": self.lookup, "max_matching_ngram_size": 5}
        return GenerationConfig(**ways)
