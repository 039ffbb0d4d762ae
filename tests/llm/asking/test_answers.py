from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import BadReply
from llm.asking.answers import TextEdit, edited, parse_code, parse_edits, parse_json

# Programs


def test_the_program_is_what_stands_in_the_only_fence() -> None:
    assert parse_code("Here it is:\n```python\nx = 1\n\ny = 2\n```\nDone.") == "x = 1\n\ny = 2\n"


@pytest.mark.parametrize("answer", [
    # Backticks within a line are no fence, and Python need not be named.
    "```x = 2``` was wrong:\n```python\nx = 1\n```",
    *(f"{opening}\nx = 1\n```" for opening in ("```", "```py", "```Python3", "``` python")),
    "\ufeff```python\r\nx = 1\r\n```\r\n",
    # Blocks of another language and thoughts leave no choice.
    "```python\nx = 1\n```\nRun it:\n```bash\npython it.py\n```",
    "```sh\npip install it\n```\n```python\nx = 1\n```\n```text\n5\n```",
    "<think>\nFirst\n```python\nx = 2\n```\nNo.\n</think>\n\n```python\nx = 1\n```",
])
def test_the_only_block_of_python_is_the_program(answer: str) -> None:
    assert parse_code(answer) == "x = 1\n"


@pytest.mark.parametrize(("fence", "program"), [
    # A fence in a string of a program that parses is the program's.
    ("```", 'USAGE = """\n```\nrun me\n```\n"""\nprint(USAGE)\n'),
    # A longer fence holds shorter ones, also where the program does not parse.
    ("````", 'USAGE = """\n```\n"""\nprint(USAGE\n'),
    # Tildes and indented backticks are no fences.
    ("```", 'def f():\n    """\n    Title\n    ```\n~~~~~\n    """\n'),
    ("```", "def f(:\n    pass\n"),
])
def test_what_looks_like_a_fence_within_a_program_is_the_programs(fence: str, program: str) -> None:
    assert parse_code(f"{fence}python\n{program}{fence}\n") == program


def test_a_value_after_a_thought_is_the_answer() -> None:
    assert parse_json('<think>{"a": 1}</think>\n{"b": 2}', {}) == {"b": 2}


@pytest.mark.parametrize("answer", [
    "x = 1",
    "    ```python\n    x = 1\n    ```",
    "~~~python\nx = 1\n~~~",
    "```python\nx = 1",
    "```python\nx = 1\n```python",
    "````python\nx = 1\n```",
    "```json\n{}\n```",
    "```python\n\n```",
    "```\nx = 1\n```\nand\n```\ny = 2\n```",
    "```python\nx = 1\n```\n```python\ny = 2\n```",
    "````\nx = 1\n````\n```\ny = 2\n```",
    "```python\nx = 1\n```\n```\ny = 2\n```",
    "```python\nx = 1\n```\n```py\ny = 2\n```\n```sh\nls\n```",
])
def test_anything_but_one_closed_block_of_python_is_refused(answer: str) -> None:
    with pytest.raises(BadReply):
        parse_code(answer)


LINES = st.lists(st.sampled_from(["x = 1", "```", "````", "", "'''", "```py", "~~~"]), max_size=8)


@given(LINES)
def test_a_fence_longer_than_any_in_the_program_always_carries_it(lines: list[str]) -> None:
    program = "\n".join([*lines, "y = 2"]) + "\n"
    assert parse_code(f"Words.\n``````python\n{program}``````\nWords.") == program


# Edits

ORIGINAL = "def f(a):\n    b = a\n    return b\n\n\ndef g(a):\n    return a\n"


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def apply(answer: str, original: str = ORIGINAL) -> str:
    return edited(original, parse_edits(answer))


def test_edits_keep_the_rest_of_the_program() -> None:
    answer = (
        "First g:\n```\n" + block("def g(a):\n    return a\n", "def g(b):\n    return b\n")
        + "```\nthen f:\n" + block("    b = a\n", "")
    )
    assert apply(answer) == "def f(a):\n    return b\n\n\ndef g(b):\n    return b\n"

    assert apply(block("b\n", "c\nd\n"), "a\r\nb\r\n") == "a\r\nc\r\nd\r\n"
    assert apply(block("b\n", "c\n"), "a\nb") == "a\nc"
    assert apply(block("b\n\n", "c\n"), "a\nb\n\n") == "a\nc\n"


@pytest.mark.parametrize(("answer", "facts"), [
    ("nothing", ""),
    (block("    retrun b\n", "    return a\n"), "'    retrun b'.*line 3"),
    (block("return b\n", "return a\n"), "line 3.*'    return b'"),
    (block("    b = a\n    return a\n", "x\n"), ""),
    (block("%%%%\n", "x\n"), ""),
    (block("", "x\n"), ""),
    (block(" \n", "x\n"), ""),
    (block("    b = a\n", "    b = a\n"), ""),
    ("<<<<<<< SEARCH\n    b = a\n=======\n", ""),
    ("<<<<<<< SEARCH\n    b = a\n>>>>>>> REPLACE\n", "'======='"),
    (">>>>>>> REPLACE\n", "'<<<<<<< SEARCH'"),
    ("<<<<<<< SEARCH\n" + block("    b = a\n", "x\n"), "'======='"),
    (block("    b = a\n", "=======\n"), ""),
    (block("    b = a\n", "x\n") + block("    b = a\n    return b\n", "y\n"), ""),
])
def test_an_edit_that_is_not_sure_is_refused(answer: str, facts: str) -> None:
    with pytest.raises(BadReply, match=facts or None):
        apply(answer)


def test_lines_that_stand_there_twice_are_refused_with_their_places() -> None:
    with pytest.raises(BadReply, match=r"2\b.* 1, 3\b"):
        apply(block("b\n", "c\n") + block("a\n", "c\n"), "a\nb\na\n")


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30, unique=True), st.data())
def test_edits_between_two_programs_reproduce_it(numbers: list[int], data: st.DataObject) -> None:
    lines = [f"x = {number}" for number in numbers]
    places = data.draw(st.sets(st.sampled_from(range(len(lines)))))
    edits = [TextEdit((lines[place],), ("y", f"z = {place}")) for place in sorted(places)]
    wanted = [
        text for place, line in enumerate(lines)
        for text in (("y", f"z = {place}") if place in places else (line,))
    ]
    order = data.draw(st.permutations(edits))
    assert edited("\n".join(lines) + "\n", order) == "\n".join(wanted) + "\n"


# JSON

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 5},
        "sure": {"type": "integer", "minimum": 0, "maximum": 100},
    },
    "required": ["text", "sure"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "\ufeff ```\r\n{}\r\n```\n"])
def test_one_fence_around_a_value_is_taken_off(fence: str) -> None:
    answer = fence.replace("{}", '{"text": "a", "sure": 3}')
    assert parse_json(answer, SCHEMA) == {"text": "a", "sure": 3}


@pytest.mark.parametrize(("answer", "fact"), [
    ('{"text": "a"', ""),
    ('Here: {"text": "a", "sure": 3}', ""),
    ('{"text": "a", "sure": 3} {"text": "a", "sure": 3}', ""),
    ('``````json\n{"text": "a", "sure": 3}\n``````', ""),
    ("```json\n```json\n{}\n```\n```", ""),
    ("```json\n{}\n```json", ""),
    ("{'text': 'a', 'sure': 3}", ""),
    ('{"text": "a", "sure": 3, "sure": 4}', ""),
    ('{"text": "a", "sure": NaN}', "NaN"),
    ('{"text": "a", "sure": -Infinity}', "-Infinity"),
    ('{"text": "a", "sure": 1e999}', ""),
    ('{"text": "\\ud800", "sure": 3}', ""),
    ("[" * 200_000, ""),
    ("", ""),
    ('{"text": "a", "sure": "3"}', "sure: '3'"),
    ('{"text": "abcdef", "sure": 300}', "sure: 300.*text: 'abcdef'"),
    ('{"text": "a", "sure": 3, "more": 1}', "more"),
    ("[]", "object"),
    (json.dumps({"text": "x" * 10_000, "sure": 3}), ""),
])
def test_what_is_not_the_value_asked_for_is_refused(answer: str, fact: str) -> None:
    with pytest.raises(BadReply, match=fact or None) as caught:
        parse_json(answer, SCHEMA)
    assert len(str(caught.value)) < 500
