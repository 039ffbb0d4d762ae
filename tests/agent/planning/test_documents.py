"""The examples of `docs/planner.md` are run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs/planner.md").read_text("utf-8"),
    re.DOTALL,
)


@pytest.mark.parametrize("number", range(2))
def test_an_example_prints_what_it_says(number: int, tmp_path: Path) -> None:
    code, expected = EXAMPLES[number]
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HEAL_DATA_DIR": str(tmp_path)},
    )
    assert ran.stdout.strip() == expected.strip()
