"""`--python`: another interpreter's packages are importable for the program."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_packages_of_the_named_interpreter_are_importable(tmp_path: Path) -> None:
    home = tmp_path / "env"
    venv.create(home, with_pip=False)
    site = Path(
        sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)})
    )
    (site / "weights_of_tea.py").write_text("GRAMS = 7\n", encoding="utf-8")
    program = tmp_path / "brew.py"
    program.write_text(
        "import weights_of_tea\n\n\ndef cups(n):\n    return n * weights_of_tea.GRAMS\n",
        encoding="utf-8",
    )

    def check(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                sys.executable, "-m", "agent", "check", str(program),
                "--tests", "assert cups(2) == 14", *options,
            ],
            cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
        )

    assert check("--python", str(home / "bin" / "python")).returncode == 0
    without = check()
    assert without.returncode == 4
    assert "weights_of_tea" in without.stderr
