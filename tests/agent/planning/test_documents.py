"""The examples of `docs/planner.md` are run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.agent.runs import printed

ROOT = Path(__file__).parents[3]
EXAMPLES = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs/planner.md").read_text("utf-8"),
    re.DOTALL,
)


@pytest.mark.parametrize("number", range(2))
def test_an_example_prints_what_it_says(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path))
    code, expected = EXAMPLES[number]
    assert printed(code, tmp_path).strip() == expected.strip()
