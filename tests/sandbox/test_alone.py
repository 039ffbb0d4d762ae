"""The sandbox can be lifted out: it needs nothing of ours, and nothing that is to be installed.

Nor does it import the programs that it keeps as data.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """\
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from sandbox import Job, open_sandbox

async def main():
    for name in ("auto", "subprocess"):
        outcome = await open_sandbox(name).run(Job("jail.send(6 * 7)"))
        print(outcome.ended, *outcome.messages)

asyncio.run(main())
import sandbox.__main__
roots = {name.partition(".")[0] for name in sys.modules}
print(sorted(roots - sys.stdlib_module_names - {"__main__", "__mp_main__"}))
print([name for name in sys.modules if ".cases" in name])
"""


def test_the_folder_alone_runs_a_job(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "sandbox", tmp_path / "sandbox", ignore=left_out)

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True,
    )

    assert (done.stdout, done.stderr) == ("completed 42\ncompleted 42\n['sandbox']\n[]\n", "")
