"""Converts a request into the tokens that a model expects.

Message contents are data: if one contains the text of a control token, such as the end-of-turn
marker, that text is encoded with ordinary tokens.
"""

from __future__ import annotations

import secrets
from typing import Any

from jinja2.exceptions import TemplateError

from llm.provider import escape_surrogates
from llm.types import Request

Turn = dict[str, str]


def tokens_of(tokenizer: Any, request: Request) -> tuple[int, ...]:
    """The tokens of a request, followed by its prefill if it has one."""
    opening = () if request.prefill is None else _plain(tokenizer, request.prefill.text)
    return _tokens(tokenizer, request) + opening


def _tokens(tokenizer: Any, request: Request) -> tuple[int, ...]:
    said = [("system", request.system)] if request.system else []
    said += [(one.speaker, one.text) for one in request.messages]
    turns = [{"role": role, "content": escape_surrogates(text)} for role, text in said]
    marks = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    if not any(mark in turn["content"] for turn in turns for mark in marks):
        return _plain(tokenizer, _rendered(tokenizer, turns))
    # The template is rendered with random placeholders, which are then replaced by the contents.
    placeholders = [secrets.token_hex(8) for _ in turns]
    text = _rendered(
        tokenizer,
        [{**turn, "content": one} for turn, one in zip(turns, placeholders, strict=True)],
    )
    contents = {one: turn["content"] for one, turn in zip(placeholders, turns, strict=True)}
    tokens: tuple[int, ...] = ()
    while text:
        found = [(text.find(one), one) for one in contents if one in text]
        if not found:
            return tokens + _plain(tokenizer, text)
        at, placeholder = min(found)
        tokens += _plain(tokenizer, text[:at])
        tokens += tuple(
            tokenizer(
                contents[placeholder], add_special_tokens=False, split_special_tokens=True
            ).input_ids
        )
        text = text[at + len(placeholder):]
    return tokens


def _plain(tokenizer: Any, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False).input_ids) if text else ()


def _rendered(tokenizer: Any, turns: list[Turn]) -> str:
    if not tokenizer.chat_template:
        # A base model without a chat template gets a document to complete.
        headed = [
            turn["content"] if turn["role"] == "system"
            else f"### {turn['role'].capitalize()}\n{turn['content']}"
            for turn in turns
        ]
        text = "\n\n".join([*headed, "### Assistant\n"])
        return f"{tokenizer.bos_token or ''}{text}"
    try:
        return str(_templated(tokenizer, turns))
    except TemplateError:
        if turns[0]["role"] != "system":
            raise
    # Some templates reject a system prompt, which is then put before the first message.
    system, first, *rest = turns
    merged = {**first, "content": f"{system['content']}\n\n{first['content']}"}
    return str(_templated(tokenizer, [merged, *rest]))


def _templated(tokenizer: Any, turns: list[Turn]) -> Any:
    # Reasoning is switched off: an answer is code or JSON from its first token.
    return tokenizer.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
