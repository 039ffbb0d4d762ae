"""`%%heal` in a real IPython shell, without a notebook around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.interfaces.conftest import BROKEN, REPAIRED, a_line_has

CELL = f"{BROKEN}\nassert add(2, 3) == 5\n"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A shell that has the magic, and a memory of its own."""
    reason = "IPython is not installed; it comes with the extra `test`"
    config = pytest.importorskip("traitlets.config", reason=reason)
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason=reason)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    monkeypatch.setenv("HEAL_BUDGET_S", "900")
    monkeypatch.setenv("HEAL_SEARCH_S", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    found = interactive.InteractiveShell(
        config=config.Config({"HistoryManager": {"enabled": False}})
    )
    found.run_line_magic("load_ext", "selfheal")
    return found


@pytest.mark.slow
def test_a_cell_is_healed_and_replaced(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell(f"%%heal --apply --tests 'assert add(0, 4) == 4'\n{CELL}").result
    said = capsys.readouterr()
    assert (result.outcome, result.proof) == ("healed", "E1")
    assert a_line_has(said.out.splitlines()[0], "E1", "isolated")
    assert "-    return a - b\n+    return a + b\n" in said.out
    assert "assert add(2, 3) == 5" in said.out and "assert add(0, 4) == 4" in said.out
    assert said.err == "" and "--verbose" not in said.out
    assert shell.rl_next_input.startswith(REPAIRED)
    # Nothing of the cell was run here.
    assert "add" not in shell.user_ns


@pytest.mark.parametrize(("cell", "fact"), [
    (f"%%heal --aply\n{CELL}", "--aply"), (f"%%heal --budget 'x\n{CELL}", ""),
    (f"%%heal\n%matplotlib inline\n{CELL}", ""), ("%%heal\n# nothing\n", ""),
])
def test_what_cannot_be_healed_is_said_and_raises_nothing(
    cell: str, fact: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    done = shell.run_cell(cell)
    assert (done.success, done.result) == (True, None)
    said = capsys.readouterr().out
    assert said and fact in said and "Traceback" not in said
