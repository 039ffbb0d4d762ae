from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import BadReply
from llm.asking.answers import Edit, code_of, edited, edits_of, json_of

# Programs


def test_the_program_is_what_stands_in_the_only_fence() -> None:
    assert code_of("Here it is:\n```python\nx = 1\n\ny = 2\n```\nDone.") == "x = 1\n\ny = 2\n"


def test_backticks_in_a_line_of_words_are_no_fence() -> None:
    assert code_of("```x = 1``` was wrong:\n```python\nx = 2\n```") == "x = 2\n"


@pytest.mark.parametrize("opening", ["```", "```python", "```py", "```Python3", "``` python"])
def test_python_may_be_named_or_not(opening: str) -> None:
    assert code_of(f"{opening}\nx = 1\n```") == "x = 1\n"


def test_line_ends_and_a_byte_order_mark_are_not_the_programs() -> None:
    assert code_of("\ufeff```python\r\nx = 1\r\n```\r\n") == "x = 1\n"


def test_a_fence_inside_a_string_of_the_program_is_the_programs() -> None:
    program = 'USAGE = """\n```\nrun me\n```\n"""\nprint(USAGE)\n'
    assert code_of(f"```python\n{program}```\n") == program


def test_a_longer_fence_holds_shorter_ones_also_where_the_program_does_not_parse() -> None:
    program = 'USAGE = """\n```\n"""\nprint(USAGE\n'
    assert code_of(f"````python\n{program}````\n") == program


def test_a_program_that_does_not_parse_is_a_program_to_repair() -> None:
    assert code_of("```python\ndef f(:\n    pass\n```") == "def f(:\n    pass\n"


def test_tildes_and_indented_backticks_are_no_fences() -> None:
    program = 'def f():\n    """\n    Title\n    ```\n~~~~~\n    """\n'
    assert code_of(f"```python\n{program}```") == program


@pytest.mark.parametrize("answer", [
    "```python\nx = 1\n```\nRun it:\n```bash\npython it.py\n```",
    "```sh\npip install it\n```\n```python\nx = 1\n```\n```text\n5\n```",
    "<think>\nFirst\n```python\nx = 2\n```\nNo.\n</think>\n\n```python\nx = 1\n```",
])
def test_blocks_of_another_language_and_thoughts_leave_no_choice(answer: str) -> None:
    assert code_of(answer) == "x = 1\n"


def test_a_value_after_a_thought_is_the_answer() -> None:
    assert json_of('<think>{"a": 1}</think>\n{"b": 2}', {}) == {"b": 2}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("x = 1", "got none"),
        ("    ```python\n    x = 1\n    ```", "got none"),
        ("~~~python\nx = 1\n~~~", "got none"),
        ("```python\nx = 1", "not closed"),
        ("```python\nx = 1\n```python", "not closed"),
        ("````python\nx = 1\n```", "not closed"),
        ("```json\n{}\n```", "got one of json"),
        ("```python\n\n```", "empty"),
        ("```\nx = 1\n```\nand\n```\ny = 2\n```", "got several"),
        ("```python\nx = 1\n```\n```python\ny = 2\n```", "got several"),
        ("````\nx = 1\n````\n```\ny = 2\n```", "got several"),
        ("```python\nx = 1\n```\n```\ny = 2\n```", "got several"),
        ("```python\nx = 1\n```\n```py\ny = 2\n```\n```sh\nls\n```", "got several"),
    ],
)
def test_anything_but_one_closed_block_of_python_is_refused_in_words(
    answer: str, why: str
) -> None:
    with pytest.raises(BadReply, match=re.escape(why)) as caught:
        code_of(answer)
    assert "one fenced code block" in str(caught.value)


LINES = st.lists(st.sampled_from(["x = 1", "```", "````", "", "'''", "```py", "~~~"]), max_size=8)


@given(LINES)
def test_a_fence_longer_than_any_in_the_program_always_carries_it(lines: list[str]) -> None:
    program = "\n".join([*lines, "y = 2"]) + "\n"
    assert code_of(f"Words.\n``````python\n{program}``````\nWords.") == program


# Edits

ORIGINAL = "def f(a):\n    b = a\n    return b\n\n\ndef g(a):\n    return a\n"


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def apply(answer: str, original: str = ORIGINAL) -> str:
    return edited(original, edits_of(answer))


def test_edits_are_made_on_the_program_as_it_was() -> None:
    answer = (
        "First g:\n```\n" + block("def g(a):\n    return a\n", "def g(b):\n    return b\n")
        + "```\nthen f:\n" + block("    b = a\n", "")
    )
    assert apply(answer) == "def f(a):\n    return b\n\n\ndef g(b):\n    return b\n"


def test_line_ends_of_the_program_stay_as_they_are() -> None:
    assert apply(block("b\n", "c\nd\n"), "a\r\nb\r\n") == "a\r\nc\r\nd\r\n"
    assert apply(block("b\n", "c\n"), "a\nb") == "a\nc"
    assert apply(block("b\n\n", "c\n"), "a\nb\n\n") == "a\nc\n"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("nothing", "got none"),
        (block("    retrun b\n", "    return a\n"), "'    retrun b' is not there; line 3 is"),
        (block("return b\n", "return a\n"), "line 3 is '    return b'"),
        (block("    b = a\n    return a\n", "x\n"), "each of them is, but not one after another"),
        (block("%%%%\n", "x\n"), "nothing is like"),
        (block("", "x\n"), "empty"),
        (block(" \n", "x\n"), "empty"),
        (block("    b = a\n", "    b = a\n"), "changes nothing"),
        ("<<<<<<< SEARCH\n    b = a\n=======\n", "not closed"),
        ("<<<<<<< SEARCH\n    b = a\n>>>>>>> REPLACE\n", "expected '======='"),
        (">>>>>>> REPLACE\n", "expected '<<<<<<< SEARCH'"),
        ("<<<<<<< SEARCH\n" + block("    b = a\n", "x\n"), "expected '======='"),
        (block("    b = a\n", "=======\n"), "cannot hold a line"),
        (block("    b = a\n", "x\n") + block("    b = a\n    return b\n", "y\n"), "make one block"),
    ],
)
def test_an_edit_that_is_not_sure_is_refused_in_words(answer: str, why: str) -> None:
    with pytest.raises(BadReply, match=re.escape(why)):
        apply(answer)


def test_lines_that_stand_there_twice_are_refused_with_their_places() -> None:
    with pytest.raises(BadReply, match=r"block 2: .* stand 2 times in .* lines 1, 3;"):
        apply(block("b\n", "c\n") + block("a\n", "c\n"), "a\nb\na\n")


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30, unique=True), st.data())
def test_the_edits_between_two_programs_make_the_one_of_the_other(
    numbers: list[int], data: st.DataObject
) -> None:
    lines = [f"x = {number}" for number in numbers]
    places = data.draw(st.sets(st.sampled_from(range(len(lines)))))
    edits = [Edit((lines[place],), ("y", f"z = {place}")) for place in sorted(places)]
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
    assert json_of(answer, SCHEMA) == {"text": "a", "sure": 3}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ('{"text": "a"', "not JSON"),
        ('Here: {"text": "a", "sure": 3}', "not JSON"),
        ('{"text": "a", "sure": 3} {"text": "a", "sure": 3}', "not JSON"),
        ('``````json\n{"text": "a", "sure": 3}\n``````', "not JSON"),
        ("```json\n```json\n{}\n```\n```", "not JSON"),
        ("```json\n{}\n```json", "not JSON"),
        ("{'text': 'a', 'sure': 3}", "not JSON"),
        ('{"text": "a", "sure": 3, "sure": 4}', "stands twice"),
        ('{"text": "a", "sure": NaN}', "NaN is no JSON number"),
        ('{"text": "a", "sure": -Infinity}', "-Infinity is no JSON number"),
        ('{"text": "a", "sure": 1e999}', "too large"),
        ('{"text": "\\ud800", "sure": 3}', "surrogates not allowed"),
        ("[" * 200_000, "not JSON"),
        ("", "not JSON"),
        ('{"text": "a", "sure": "3"}', "sure: '3' is not of type 'integer'"),
        ('{"text": "abcdef", "sure": 300}', "sure: 300 is greater .*; text: 'abcdef' is too long"),
        ('{"text": "a", "sure": 3, "more": 1}', "the answer: Additional properties"),
        ("[]", "is not of type 'object'"),
    ],
)
def test_what_is_not_the_value_asked_for_is_refused_in_words(answer: str, why: str) -> None:
    with pytest.raises(BadReply, match=why) as caught:
        json_of(answer, SCHEMA)
    assert len(str(caught.value)) < 500


def test_the_validators_words_are_bounded() -> None:
    with pytest.raises(BadReply) as caught:
        json_of(json.dumps({"text": "x" * 10_000, "sure": 3}), SCHEMA)
    assert len(str(caught.value)) < 200


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.integers(0, 100))
def test_a_valid_value_comes_back_as_it_was_written(text: str, sure: int) -> None:
    value = {"text": text, "sure": sure}
    assert json_of(json.dumps(value), SCHEMA) == value
    assert json_of(json.dumps(value, ensure_ascii=False, indent=1), SCHEMA) == value
