"""Holds a model to a JSON Schema while it writes: tokens that the grammar forbids are masked.

A processor of logits is called for each token, and where copied tokens are verified also for
prefixes that are then given up again. So it keeps no position of its own: each call compares what
it was given with what the grammar has read, takes the difference back and reads on.

Two more things a grammar does not do by itself. Once an answer is complete, the end token is the
only one left. And where no more tokens are left than closing the answer can take, only what closes
it soonest is left, so that no answer is cut.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from llm.asking.schemas import Schema, closing_room
from llm.errors import BadPrompt, NoProvider

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORM = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""As `json.dumps` writes: free whitespace is one more way never to end."""

SPARE = 2
"""Tokens beyond the closing: the end token, and the one that may just have been begun."""


class Grammars:
    """Makes constraints for one tokenizer."""

    def __init__(self, tokenizer: Any, ends: Sequence[int], width: int) -> None:  # untyped library
        if find_spec("llguidance") is None:
            raise NoProvider(
                "A local model answers in JSON only under a grammar, which needs llguidance, which "
                'is not installed: pip install -e ".[local]"'
            )
        import llguidance
        import llguidance.hf

        self._library = llguidance
        self._size = max(width, len(tokenizer))
        self._tokenizer = llguidance.hf.from_tokenizer(
            tokenizer, n_vocab=self._size, eos_token=list(ends)
        )
        self._width = width
        self._ends = list(ends)
        self._single: NDArray[np.int16] | None = None

    def constraint(self, schema: Schema, asked: int, limit: int) -> Constraint:
        """For one answer of at most `limit` tokens to a question of `asked` tokens.

        Raises `BadPrompt` where the schema is not bounded, or the limit too low to close every
        answer.
        """
        room = closing_room(schema) + SPARE
        if limit < room:
            raise BadPrompt(
                f"{limit} tokens are too few for an answer under this schema: closing it can take "
                f"{room}; raise max_tokens"
            )
        grammar = self._library.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides=_FORM
        )
        matcher = self._library.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise BadPrompt(f"the schema cannot be made a grammar: {matcher.get_error()}")
        return Constraint(self, matcher, asked, limit - room)

    @property
    def width(self) -> int:
        """How many tokens the network chooses from."""
        return self._width

    @property
    def ends(self) -> list[int]:
        return self._ends

    def text(self, tokens: Sequence[int]) -> bytes:
        """What the tokens write."""
        return bytes(self._tokenizer.decode_bytes(list(tokens)))

    @property
    def single(self) -> NDArray[np.int16]:
        """For each token the byte that it is, or -1 where it is several or none."""
        if self._single is None:
            texts = [self.text([token]) for token in range(self._width)]
            self._single = np.array(
                [text[0] if len(text) == 1 else -1 for text in texts], dtype=np.int16
            )
        return self._single


class Constraint:
    """A processor of logits for one answer, which may write `free` tokens before it must end."""

    def __init__(self, grammars: Grammars, matcher: Any, asked: int, free: int) -> None:
        self._grammars = grammars
        self._matcher = matcher
        self._asked = asked
        self._free = free
        self._read: list[int] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if input_ids.shape[0] != 1:
            raise ValueError("a constraint is for one answer, not for several at once")
        self._follow(input_ids[0, self._asked:].tolist())
        allowed = torch.from_numpy(self._allowed()).to(scores.device)
        return scores.masked_fill(~allowed, -torch.inf)

    def _follow(self, tokens: list[int]) -> None:
        same = 0
        for ours, theirs in zip(self._read, tokens, strict=False):
            if ours != theirs:
                break
            same += 1
        back = len(self._read) - same
        if back and not self._matcher.rollback(back):
            raise RuntimeError(f"the grammar cannot go back: {self._matcher.get_error()}")
        if not self._matcher.consume_tokens(tokens[same:]):
            raise RuntimeError(f"the grammar lost its place: {self._matcher.get_error()}")
        self._read = tokens

    def _allowed(self) -> NDArray[np.bool_]:
        if self._matcher.is_stopped():
            if self._matcher.is_error():
                raise RuntimeError(f"the grammar failed: {self._matcher.get_error()}")
            return self._only_ends()
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.unpackbits(bits, bitorder="little")[: self._grammars.width].astype(np.bool_)
        return allowed if len(self._read) < self._free else self._closing(allowed)

    def _closing(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Of what is allowed, what ends the answer soonest, byte by byte: a longer token may close
        one thing and open the next."""
        if allowed[self._grammars.ends].any():
            return self._only_ends()
        single = np.where(allowed, self._grammars.single, -1)
        wanted = [b'"'] if _in_string(self._grammars.text(self._read)) else [b"]}", b'",:']
        for some in wanted:
            nearest = np.isin(single, list(some))
            if nearest.any():
                return nearest
        short: NDArray[np.bool_] = single >= 0
        return short if short.any() else allowed

    def _only_ends(self) -> NDArray[np.bool_]:
        only = np.zeros(self._grammars.width, dtype=np.bool_)
        only[self._grammars.ends] = True
        return only


def _in_string(text: bytes) -> bool:
    inside = escaped = False
    for byte in text:
        if escaped:
            escaped = False
        elif inside and byte == ord("\\"):
            escaped = True
        elif byte == ord('"'):
            inside = not inside
    return inside
