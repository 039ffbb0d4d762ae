"""SARIF, workflow annotations and suggestions: what failed and the repair, each at its lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.interfaces.library import SelfHealingAgent
from agent.interfaces.project.github import suggestions, workflow_commands
from agent.interfaces.request import HealRequest
from agent.interfaces.sarif import line_of, replacements, sarif
from tests.agent.search.project.small_project import pyproject

BEFORE = "a = 1\nb = 2\nc = 3\n"


@pytest.mark.parametrize("after", [
    "a = 1\nb = 4\nc = 3\n", "z = 0\na = 1\nb = 2\nc = 3\n", "a = 1\nb = 2\nx = 1\nc = 3\n",
    "a = 1\nb = 2\nc = 3\nd = 4\n", "a = 1\nc = 3\n", "", "c = 3\nb = 2\na = 1\n",
    "a = 1\nb = 2\nc = 3",
])
def test_replacements_give_the_text_after_and_replace_at_least_one_line(after: str) -> None:
    lines = BEFORE.splitlines(keepends=True)
    for one in reversed([*replacements("a.py", BEFORE, after)]):
        assert one.first <= one.last
        assert "".join(lines[one.first - 1 : one.last]) == one.before
        lines[one.first - 1 : one.last] = [one.text]
    assert "".join(lines) == after


def test_a_test_is_found_by_its_function_or_its_own_text() -> None:
    text = "x = 1\nassert x == 1\n\ndef test_a():\n    assert x\n"
    assert (line_of(text, "test_a"), line_of(text, "assert x == 1")) == (4, 2)
    assert line_of(text, "test_b") == 0


def document(path: str, first: int, before: str, text: str, message: str = "m") -> dict[str, Any]:
    snippet = {"text": before}
    region = {"startLine": first, "endLine": first + before.count("\n"), "snippet": snippet}
    return {"runs": [{"results": [{
        "ruleId": "repair", "level": "note", "message": {"text": message},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": path}, "region": {"startLine": first},
        }}],
        "fixes": [{"artifactChanges": [{
            "artifactLocation": {"uri": path},
            "replacements": [{"deletedRegion": region, "insertedContent": {"text": text}}],
        }]}],
    }]}]}


PATCH = "@@ -3,2 +3,3 @@ def f():\n a = 1\n-b = 0\n+b = 2\n+c = 3\n@@ -20 +21 @@\n+z = 1"


@pytest.mark.parametrize(("path", "first", "before", "comment"), [
    ("m.py", 4, "b = 2\n", {"line": 4}),
    ("m.py", 4, "b = 2\nc = 3\n", {"line": 5, "start_line": 4, "start_side": "RIGHT"}),
    ("m.py", 21, "z = 1\n", {"line": 21}),
    ("m.py", 4, "b = 9\n", None), ("m.py", 9, "b = 2\n", None), ("n.py", 4, "b = 2\n", None),
])
def test_a_line_of_the_pull_request_gets_a_suggestion_if_it_still_has_that_text(
    path: str, first: int, before: str, comment: dict[str, Any] | None
) -> None:
    found = suggestions(
        document(path, first, before, "b = 7\n"), [{"filename": "m.py", "patch": PATCH}], "abc"
    )
    if comment is None:
        assert found == {}
        return
    body = "m\n\n```suggestion\nb = 7\n```"
    assert found == {"commit_id": "abc", "event": "COMMENT", "comments": [
        {"path": "m.py", "side": "RIGHT", "body": body} | comment
    ]}


def test_no_text_ends_a_suggestion_or_starts_a_command() -> None:
    forged = document("a,b:c%.py", 1, "x\n", "```\ny\n", "one\n::error::forged")
    shown = workflow_commands(forged)
    assert shown.count("\n") == 1 and "\n::error" not in shown
    assert shown.startswith("::notice file=a%2Cb%3Ac%25.py,line=1,title=Repair by heal::one%0A")
    changed = [{"filename": "a,b:c%.py", "patch": "@@ -1 +1 @@\n+x"}]
    (comment,) = suggestions(forged, changed, "c")["comments"]
    assert comment["body"].endswith("````suggestion\n```\ny\n````")


async def test_a_projects_failing_test_and_repair_stand_at_their_lines(tmp_path: Path) -> None:
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    root = top / "tally"
    root.mkdir()
    (root / "pyproject.toml").write_text(pyproject("tally"))
    (root / "tally.py").write_text("def total(values):\n    return sum(values) - 1\n")
    (root / "test_tally.py").write_text(
        "from tally import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n"
    )
    agent = SelfHealingAgent("mock", data_dir=tmp_path / "data")
    prepared, result = await agent.healed(HealRequest(str(root), means_project=True))
    found = json.loads(json.dumps(sarif(result, prepared)))
    (run,) = found["runs"]
    failing, repair = run["results"]
    assert failing["ruleId"] == "failing-test" and "test_total" in failing["message"]["text"]
    assert failing["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "tally/test_tally.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5},
    }
    (change,) = repair["fixes"][0]["artifactChanges"]
    (replaced,) = change["replacements"]
    assert change["artifactLocation"]["uri"] == "tally/tally.py"
    assert replaced["deletedRegion"]["snippet"]["text"] == "    return sum(values) - 1\n"
    assert replaced["insertedContent"]["text"] == "    return sum(values)\n"
    assert run["properties"]["confidence"] == result.confidence
