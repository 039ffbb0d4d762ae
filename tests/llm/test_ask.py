from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm import (
    BadPrompt,
    BadReply,
    Message,
    NoModel,
    Reply,
    Request,
    Usage,
    rules_provider,
)
from llm.ask import ask_code, ask_json
from llm.prompts import load

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


class Scripted:
    """Answers from a list, and keeps the questions."""

    name = "scripted"
    model = "none"

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    exact = False
    window = None

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        self.asked.append(request)
        answer = self.answers.pop(0)
        for piece in answer.partition(" "):
            yield piece
        yield Reply(answer, "stop", self.name, self.model, Usage())

    async def models(self) -> tuple[str, ...]:
        return ()

    def count(self, text: str) -> int:
        return len(text)

    async def close(self) -> None:
        """Nothing is held."""


REQUEST = Request("critic", "system", (Message("user", "user"),))


async def test_a_valid_answer_is_returned_at_once() -> None:
    provider = Scripted('{"text": "a b"}')
    assert await ask_json(provider, REQUEST, SCHEMA) == {"text": "a b"}
    assert len(provider.asked) == 1


async def test_a_malformed_answer_is_asked_for_again_with_the_reason() -> None:
    provider = Scripted('{"txt": 1}', '{"text": "b"}')
    assert await ask_json(provider, REQUEST, SCHEMA) == {"text": "b"}
    assert "'text' is a required property" in provider.asked[1].messages[-1].text


async def test_two_malformed_answers_are_an_error_and_nothing_is_salvaged() -> None:
    with pytest.raises(BadReply, match="not JSON"):
        await ask_json(Scripted('{"text": "a"', '```json\n{"text": "a"}\n```'), REQUEST, SCHEMA)


@pytest.mark.parametrize("answer", ["no fence", "```\na\n```\n```\nb\n```", "```python\nx = 1"])
async def test_code_must_come_as_exactly_one_closed_fence(answer: str) -> None:
    with pytest.raises(BadReply, match="one fenced code block"):
        await ask_code(Scripted(answer, answer), REQUEST)


async def test_code_travels_raw_inside_its_fence() -> None:
    code = "print('''a\\n```''')\n"
    assert await ask_code(Scripted(f"Here:\n```python\n{code}```\n"), REQUEST) == code


async def test_a_role_without_a_rule_says_that_it_needs_a_model() -> None:
    provider = rules_provider({})
    with pytest.raises(NoModel, match="'critic' needs a model"):
        await ask_json(provider, REQUEST, SCHEMA)


def write(folder: Path, text: str) -> Path:
    (folder / "critic.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_prompt_renders_values_with_braces_untouched(tmp_path: Path) -> None:
    prompt = load(
        write(tmp_path, "role: critic\nversion: 1\nsystem: s\nuser: 'code: {{code}} {x}'\n"),
        "critic",
    )
    assert prompt.render({"code": "{'a': {{b}}}"}) == "code: {'a': {{b}}} {x}"


def test_a_missing_variable_is_an_error_before_any_call(tmp_path: Path) -> None:
    prompt = load(
        write(tmp_path, "role: critic\nversion: 1\nsystem: s\nuser: '{{code}} {{tests}}'\n"),
        "critic",
    )
    with pytest.raises(BadPrompt, match="lacks a value for tests"):
        prompt.render({"code": "x"})


@pytest.mark.parametrize(
    "text",
    [
        "role: critic\nversion: 1\nsystem: s\n",
        "role: critic\nversion: 1\nsystem: s\nuser: u\nextra: 1\n",
        "role: other\nversion: 1\nsystem: s\nuser: u\n",
        "role: critic\nversion: one\nsystem: s\nuser: u\n",
        "- a\n",
        "role: [",
    ],
)
def test_a_wrong_prompt_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadPrompt):
        load(write(tmp_path, text), "critic")


def test_a_prompt_file_that_changes_is_read_again(tmp_path: Path) -> None:
    text = "role: critic\nversion: 1\nsystem: s\nuser: one\n"
    assert load(write(tmp_path, text), "critic").user == "one"
    assert load(write(tmp_path, text.replace("one", "two")), "critic").user == "two"
