"""A loaded model and its decoding, which run in the worker's thread.

Decoding uses the library's `generate`. Code, which mostly repeats the prompt, is decoded with
prompt lookup: it proposes the tokens that followed the same words before, and verifies several of
them in one forward pass. JSON is decoded under a grammar.
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
from llm.providers.huggingface.host import FinishedAnswer
from llm.types import Code, Finish, Json, Request, Usage

_BROKEN = "\ufffd"
"""What a tokenizer writes for bytes that do not form a complete character."""


class StreamDecoder:
    """Calls `emit` with each new piece of text and records how the answer ended.

    A forward pass that verifies copied tokens yields several at once. Those after the end are
    dropped, so the answer does not depend on how the tokens arrive.
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
        self._shown = self._whole = 0  # token indexes: decode from _shown, new text from _whole
        self.tokens = 0
        self.finish: Finish | None = None

    def hear(self, tokens: Iterable[int]) -> None:
        """Adds the tokens of one forward pass. An incomplete character is dropped."""
        for token in tokens:
            if self.finish is None:
                self._hear(token)

    def _hear(self, token: int) -> None:
        self.tokens += 1
        if token in self._ends:
            self.finish = "stop"
            return
        self._heard.append(token)
        # Some tokenizers decode the first token of a text differently. So the new text is the
        # difference of two decoded texts that start at a complete character.
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


class _StopRule:
    """A stopping criterion that passes new tokens to the listener after each forward pass. (A
    streamer is called later and cannot stop the decoding.)"""

    def __init__(self, listener: StreamDecoder, asked: int, cancelled: threading.Event) -> None:
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
    """A separate tokenizer for `count`, which another thread uses."""
    ends: tuple[int, ...]
    window: int | None
    sampling: dict[str, Any]
    """The model's recommended `top_k` and `top_p`."""
    lookup: int
    """How many copied tokens are verified at once; 0 disables prompt lookup."""
    words: str
    """The device and formats, for people."""
    _grammars: Grammars | None = field(default=None, init=False)

    def answer(
        self, request: Request, emit: Callable[[str], None], cancelled: threading.Event
    ) -> FinishedAnswer:
        """Writes the answer piece by piece to `emit`. Raises an `LlmError`."""
        try:
            with torch.inference_mode():
                return self._answer(request, emit, cancelled)
        except (torch.OutOfMemoryError, MemoryError) as error:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            raise Overloaded(
                f"{self.name} ran out of memory; shorten the request or set USE_4BIT=1"
            ) from error
        except RuntimeError as error:
            raise ProviderDown(f"{self.name} failed in this process: {error}") from error

    def _answer(
        self, request: Request, emit: Callable[[str], None], cancelled: threading.Event
    ) -> FinishedAnswer:
        started = time.monotonic()
        question = tokens_of(self.tokenizer, request)
        limit = self._token_limit(request, len(question))
        asked = torch.tensor([question], device=self.network.device)
        processors = LogitsProcessorList()
        if isinstance(request.output, Json):
            processors.append(self.grammars().constraint(request.output.schema, len(question)))
        closing = ""
        if request.prefill is not None:
            emit(request.prefill.text)
            closing = request.prefill.stop
        listener = StreamDecoder(self._decode, self.ends, emit, closing)
        self.network.generate(
            asked, attention_mask=torch.ones_like(asked),
            generation_config=self._generation_config(request, limit), logits_processor=processors,
            stopping_criteria=StoppingCriteriaList([_StopRule(listener, len(question), cancelled)]),
        )
        finish = listener.finish or "length"
        full = finish == "length" and limit < request.max_tokens
        return FinishedAnswer(
            finish, Usage(input=len(question), output=listener.tokens),
            f"the context window of {self.window} tokens was full" if full else "",
            time.monotonic() - started, cancelled.is_set(),
        )

    def grammars(self) -> Grammars:
        """Created for the first JSON answer, since it takes seconds for a large vocabulary."""
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

    def _token_limit(self, request: Request, asked: int) -> int:
        if self.window is None:
            return request.max_tokens
        if asked >= self.window:
            raise ContextOverflow(
                f"the request has {asked} tokens, and {self.name} has room for {self.window} "
                "with the answer; shorten the request"
            )
        return min(request.max_tokens, self.window - asked)

    def _generation_config(self, request: Request, limit: int) -> GenerationConfig:
        """Greedy decoding unless a temperature is given. JSON is sampled without `top_k`, which
        together with a grammar could leave no token."""
        options: dict[str, Any] = {
            "max_new_tokens": limit, "eos_token_id": list(self.ends),
            "pad_token_id": self.ends[0], "do_sample": False,
        }
        if request.temperature:
            sampling = {"top_k": 0} if isinstance(request.output, Json) else self.sampling
            options |= {"do_sample": True, "temperature": request.temperature, **sampling}
        elif self.lookup and isinstance(request.output, Code):
            options |= {"prompt_lookup_num_tokens": self.lookup, "max_matching_ngram_size": 5}
        return GenerationConfig(**options)
