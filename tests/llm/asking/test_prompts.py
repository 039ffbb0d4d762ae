from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import BadPrompt
from llm.asking.prompts import DATA_RULE, Prompt, load, mark_for, rendered, shown

GOOD = """\
role: critic
version: 1
system: |
  You review. Answer so: {{schema}}
templates:
  review: |
    The program:
    {{code}}

    Notes:
    {{notes}}

    Is it right?
parts:
  code: {priority: 100, floor: whole, keep: both}
  notes: {priority: 10, floor: 0, keep: head}
max_tokens: 300
deadline_s: 60
temperature: null
effort: low
"""


def prompt(folder: Path, text: str = GOOD) -> Prompt:
    (folder / "critic.yaml").write_text(text, encoding="utf-8")
    return load(folder, "critic")


def test_values_stand_between_marks_and_are_shown_as_they_are(tmp_path: Path) -> None:
    told = prompt(tmp_path).render("review", {"code": "{'a': {{notes}}}\n", "notes": "none"})
    mark = re.findall(r'mark="(\w+)"', told)[0]
    assert told == (
        f'The program:\n<data name="code" mark="{mark}">\n{{\'a\': {{{{notes}}}}}}\n'
        f'</data mark="{mark}">\n\nNotes:\n<data name="notes" mark="{mark}">\nnone\n'
        f'</data mark="{mark}">\n\nIs it right?\n'
    )


def test_templates_may_share_a_piece(tmp_path: Path) -> None:
    start, end = GOOD.split("  review: |\n")[0], GOOD.split("Is it right?\n")[1]
    shared = f"""{start}  review:
    - &program |
      The program:
      {{{{code}}}}

      Notes:
      {{{{notes}}}}
    - Is it right?
  other:
    - *program
    - Is it wrong?
{end}"""
    found = prompt(tmp_path, shared)
    assert found.templates["review"] == prompt(tmp_path).templates["review"]
    assert found.templates["other"] == found.templates["review"].replace("right", "wrong")


def test_a_paragraph_without_a_value_is_left_out(tmp_path: Path) -> None:
    told = prompt(tmp_path).render("review", {"code": "x = 1", "notes": ""})
    assert "Notes" not in told and "Is it right?" in told


def test_the_form_is_shown_in_the_system_prompt(tmp_path: Path) -> None:
    assert prompt(tmp_path).instructions('{"approve": true or false}') == (
        f'You review. Answer so: {{"approve": true or false}}\n\n{DATA_RULE}'
    )

    with pytest.raises(BadPrompt):
        prompt(tmp_path).instructions()
    plain = prompt(tmp_path, GOOD.replace(" {{schema}}", ""))
    with pytest.raises(BadPrompt):
        plain.instructions("a form")


def test_a_missing_or_unknown_variable_is_an_error_before_any_call(tmp_path: Path) -> None:
    for template, values, fact in (
        ("review", {"code": "x"}, "notes"),
        ("review", {"code": "x", "notes": "", "tests": ""}, "tests"), ("edit", {}, "'edit'"),
    ):
        with pytest.raises(BadPrompt, match=fact):
            prompt(tmp_path).render(template, values)


@pytest.mark.parametrize(("old", "new", "key"), [
    ("version: 1\n", "", "version"),
    ("version: 1", "version: one", "version"),
    ("version: 1", "version: true", "version"),
    ("version: 1", "version: 1.0", "version"),
    ("version: 1", "version: 0", "version"),
    ("version: 1", "version: 1\nextra: 1", "extra"),
    ("version: 1", "version: 1\nversion: 2", "version"),
    ("role: critic", "role: other", "role"),
    ("role: critic", "- a", "critic.yaml"),
    ("role: critic", "role: [", "critic.yaml"),
    ("{{schema}}", "{{schema}} {{code}}", "system"),
    ("  review: |", "  review: 3\n  other: |", "templates.review"),
    ("  review: |", "  review: [a, 3]\n  other: |", "templates.review"),
    ("    {{code}}", "    see {{code}} there", "templates.review"),
    ("    {{code}}", "    {{ code }}", "templates.review"),
    ("    {{code}}", "    {{code}}\n    {{notes}}", "templates.review"),
    ("    {{code}}", "    {{code}}\n\n    {{code}}", "templates.review"),
    ("    {{code}}", "    {{code}}\n\n    {{more}}", "parts.more"),
    ("\n    Notes:\n    {{notes}}\n", "", "parts.notes"),
    ("floor: whole", "floor: half", "parts.code.floor"),
    ("floor: whole", "floor: -1", "parts.code.floor"),
    ("keep: head", "keep: middle", "parts.notes.keep"),
    ("keep: head}", "keep: head, keep: tail}", "keep"),
    (", keep: head", "", "parts.notes.keep"),
    ("max_tokens: 300", "max_tokens: '300'", "max_tokens"),
    ("deadline_s: 60", "deadline_s: 0", "deadline_s"),
    ("temperature: null", "temperature: 3", "temperature"),
    ("temperature: null\n", "", "temperature"),
    ("effort: low", "effort: huge", "effort"),
])
def test_errors_of_a_file_name_it_and_its_key(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert old in GOOD
    with pytest.raises(BadPrompt, match=r"critic\.yaml") as caught:
        prompt(tmp_path, GOOD.replace(old, new, 1))
    assert key in str(caught.value)
    with pytest.raises(BadPrompt, match=r"none\.yaml"):
        load(tmp_path, "none")


def test_a_file_that_changes_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    first = prompt(tmp_path)
    assert prompt(tmp_path) is first
    assert "You judge." in prompt(tmp_path, GOOD.replace("You review.", "You judge.")).system


@pytest.mark.parametrize(("old", "new", "same"), [
    ("version: 1", "version: 1  # a remark", True),
    ("deadline_s: 60", "deadline_s: 90", True),
    ("version: 1", "version: 2", False),
    ("You review.", "You judge.", False),
    ("Is it right?", "Is it good?", False),
    ("max_tokens: 300", "max_tokens: 301", False),
    ("effort: low", "effort: high", False),
    ("floor: 0", "floor: 1", False),
])
def test_the_hash_follows_the_sent_prompt(tmp_path: Path, old: str, new: str, same: bool) -> None:
    first = prompt(tmp_path).hash
    assert re.fullmatch("[0-9a-f]{16}", first)
    assert (prompt(tmp_path, GOOD.replace(old, new)).hash == first) is same


# What untrusted text cannot do

TEMPLATE = "Look:\n{{code}}\n\nAnd:\n{{output}}\n"
PIECES = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=20),
        st.sampled_from([
            "</data>", '</data mark="', '">', "\n", "{{output}}", '<data name="code" mark="',
            "0123456789abcdef", "\ud800",
        ]),
    ),
    max_size=8,
).map("".join)


@given(PIECES, PIECES)
def test_no_value_closes_its_block_or_begins_another(code: str, output: str) -> None:
    told = rendered(TEMPLATE, {"code": code, "output": output})
    values = [value for value in (code, output) if value]
    opened = re.findall(r'^<data name="(\w+)" mark="(\w{8})">$', told, re.MULTILINE)
    marks = {mark for _, mark in opened if told.count(mark) == 2 * len(values)}
    if not values:
        assert told == "\n"
        return
    (mark,) = marks
    blocks = re.findall(
        rf'^<data name="\w+" mark="{mark}">\n(.*?)\n</data mark="{mark}">$', told,
        re.MULTILINE | re.DOTALL,
    )
    assert blocks == [
        value.encode("utf-8", "backslashreplace").decode().rstrip("\n") for value in values
    ]
    assert told == rendered(TEMPLATE, {"code": code, "output": output})


def test_marks_that_a_text_contains_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four marks in all, a text that contains three of them gets the fourth."""
    every = [f"{number:08x}" for number in range(4)]

    class Digest:
        def __init__(self, data: bytes) -> None:
            self.data = data

        def digest(self) -> bytes:
            return b""

        def hexdigest(self) -> str:
            return every[int.from_bytes(self.data, "big") % len(every)]

    monkeypatch.setattr("llm.asking.prompts.hashlib.sha256", Digest)
    assert mark_for((" ".join(every[:3]),)) == every[3]


def test_what_no_encoding_carries_is_written_out() -> None:
    assert "a\\ud800b" in rendered(TEMPLATE, {"code": "a\ud800b", "output": ""})


@given(st.text("`a\n", max_size=30))
def test_a_fence_is_longer_than_any_in_its_value(code: str) -> None:
    lines = shown(code, "python").split("\n")
    fence = lines[0].removesuffix("python")
    assert set(fence) == {"`"}
    assert lines[-1] == fence
    assert not any(fence in line for line in lines[1:-1])


def test_a_small_models_values_stand_in_fences_without_marks() -> None:
    template = "Fix it.\n\n{{code}}\n\nIt says:\n{{error}}"
    values = {"code": "x = 1\n", "error": "no"}
    text = rendered(template, values, {"code": "python", "error": ""})
    assert text == "Fix it.\n\n```python\nx = 1\n```\n\nIt says:\nno\n"
