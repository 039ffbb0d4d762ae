"""A question as the tokens that a model expects.

What users and programs wrote is data: where it holds the text of a control token, such as the mark
of a turn's end, that text is written with ordinary tokens.
"""

from __future__ import annotations

import secrets
from typing import Any

from jinja2.exceptions import TemplateError

from llm.provider import sayable
from llm.types import Request

Turn = dict[str, str]


def tokens_of(tokenizer: Any, request: Request) -> tuple[int, ...]:
    """The whole question, ready for the answer, which has begun where it has a frame."""
    begun = () if request.frame is None else _plain(tokenizer, request.frame.opening)
    return _tokens(tokenizer, request) + begun


def _tokens(tokenizer: Any, request: Request) -> tuple[int, ...]:
    turns = [{"role": "system", "content": sayable(request.system)}] if request.system else []
    turns += [{"role": one.speaker, "content": sayable(one.text)} for one in request.messages]
    marks = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    if not any(mark in turn["content"] for turn in turns for mark in marks):
        return _plain(tokenizer, _rendered(tokenizer, turns))
    # Each content is rendered as a word that nobody could have guessed, and written in its place.
    words = [secrets.token_hex(8) for _ in turns]
    text = _rendered(
        tokenizer,
        [{**turn, "content": word} for turn, word in zip(turns, words, strict=True)],
    )
    contents = {word: turn["content"] for word, turn in zip(words, turns, strict=True)}
    tokens: tuple[int, ...] = ()
    while text:
        found = [(text.find(word), word) for word in contents if word in text]
        if not found:
            return tokens + _plain(tokenizer, text)
        at, word = min(found)
        tokens += _plain(tokenizer, text[:at])
        tokens += tuple(
            tokenizer(
                contents[word], add_special_tokens=False, split_special_tokens=True
            ).input_ids
        )
        text = text[at + len(word):]
    return tokens


def _plain(tokenizer: Any, text: str) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=False).input_ids) if text else ()


def _rendered(tokenizer: Any, turns: list[Turn]) -> str:
    if not tokenizer.chat_template:
        # A model that was never taught to converse gets a document to go on with.
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
    # Templates of models that know no system prompt refuse one: it then begins the first question.
    system, first, *rest = turns
    merged = {**first, "content": f"{system['content']}\n\n{first['content']}"}
    return str(_templated(tokenizer, [merged, *rest]))


def _templated(tokenizer: Any, turns: list[Turn]) -> Any:
    # Models that can think aloud are asked not to: an answer is code or JSON from its first token.
    return tokenizer.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
