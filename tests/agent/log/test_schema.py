"""The published JSON Schema of the result document."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from agent.core.events import from_jsonl
from agent.report.result import OLD_NAMES, document, fold
from agent.report.schema import document_schema
from tests.demo.recorded import RUNS, recorded


@pytest.mark.parametrize("name", [path.stem for path in sorted(RUNS.glob("*.jsonl"))])
def test_documents_of_recorded_runs_are_valid_at_any_point(name: str) -> None:
    log, validator = recorded(name), Draft202012Validator(document_schema())
    for events in (log, log[: len(log) // 2], log[:1]):
        validator.validate(json.loads(json.dumps(document(fold(events)))))


def test_a_document_with_another_key_or_type_is_invalid() -> None:
    validator = Draft202012Validator(document_schema())
    given = document(fold(recorded("healed")))
    assert validator.is_valid(given)
    assert not validator.is_valid({**given, "more": 1})
    assert not validator.is_valid({**given, "proof": "E9"})
    assert not validator.is_valid({**given, "version": 2})


@pytest.mark.parametrize("name", [path.stem for path in sorted(RUNS.glob("*.jsonl"))])
def test_stored_runs_of_the_version_before_are_read(name: str) -> None:
    text = (RUNS / f"{name}.jsonl").read_text("utf-8")
    before = text
    for old, new in {**OLD_NAMES, "astray": "wrong_file", "blamed": "suspicious_lines"}.items():
        before = before.replace(f'"{new}":', f'"{old}":')
    assert before != text
    assert from_jsonl(before) == from_jsonl(text)
