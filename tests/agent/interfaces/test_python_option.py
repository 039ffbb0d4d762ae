"""`--python`: another interpreter's packages are importable for the program."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path

from tests.agent.interfaces.test_process import heal


def test_packages_of_the_named_interpreter_are_importable(tmp_path: Path) -> None:
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    (site / "weights_of_tea.py").write_text("GRAMS = 7\n", encoding="utf-8")
    program = tmp_path / "brew.py"
    program.write_text(
        "import weights_of_tea\n\n\ndef cups(n):\n    return n * weights_of_tea.GRAMS\n",
        encoding="utf-8",
    )

    asked = ("check", program, "--tests", "assert cups(2) == 14")

    assert heal(tmp_path, *asked, "--python", home / "bin" / "python").returncode == 0
    without = heal(tmp_path, *asked)
    assert without.returncode == 4
    assert "weights_of_tea" in without.stderr
