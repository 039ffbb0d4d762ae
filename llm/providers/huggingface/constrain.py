"""Constrains a model's output to a JSON Schema by masking tokens that the grammar forbids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from llm.asking.schemas import Schema, inlined, schema_text
from llm.errors import BadPrompt, NoProvider
from llm.provider import install_words

_FORM = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""The format of `json.dumps`: with free whitespace a model might never finish."""


class Grammars:
    """Makes constraints for one tokenizer."""

    def __init__(self, tokenizer: Any, ends: Sequence[int], width: int) -> None:  # untyped library
        if find_spec("llguidance") is None:
            raise NoProvider(
                "JSON answers of a local model need llguidance, which is not installed: "
                f"{install_words('local')}"
            )
        import llguidance
        import llguidance.hf

        self._library = llguidance
        self._tokenizer = llguidance.hf.from_tokenizer(
            tokenizer, n_vocab=max(width, len(tokenizer)), eos_token=list(ends)
        )
        self._width = width
        self._ends = list(ends)

    def constraint(self, schema: Schema, asked: int) -> Constraint:
        """The constraint of one answer to a request of `asked` tokens.

        Raises `BadPrompt` for an unbounded schema, which a model could fill to the token limit.
        """
        schema_text(inlined(schema))
        grammar = self._library.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides=_FORM
        )
        matcher = self._library.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise BadPrompt(f"cannot convert the schema to a grammar: {matcher.get_error()}")
        return Constraint(matcher, asked, self._width, self._ends)


class Constraint:
    """A logits processor for one answer. It allows only end tokens once the answer is complete."""

    def __init__(self, matcher: Any, asked: int, width: int, ends: list[int]) -> None:
        self._matcher = matcher
        self._read = asked
        self._width = width
        self._ends = ends

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        written = input_ids[0, self._read:].tolist()
        self._read += len(written)
        if not self._matcher.consume_tokens(written) or self._matcher.is_error():
            raise RuntimeError(f"the grammar rejected a token: {self._matcher.get_error()}")
        if self._matcher.is_stopped():
            allowed = np.zeros(self._width, dtype=np.bool_)
            allowed[self._ends] = True
        else:
            bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
            allowed = np.unpackbits(bits, bitorder="little")[: self._width].astype(np.bool_)
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), -torch.inf)
