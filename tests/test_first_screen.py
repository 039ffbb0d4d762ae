"""The README's first screen is done as it stands there: heal, read, apply, green."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SCREEN = re.findall(r"```console\n(.*?)```", README, re.DOTALL)[0]
RIGHT = "votes[party] >= threshold * total"


def commands() -> list[tuple[str, str]]:
    """Each command of the screen, without its remark, with what it is told to print."""
    told = [one.partition("\n") for one in SCREEN.removeprefix("$ ").split("\n$ ")]
    return [(command.partition(" #")[0].strip(), said) for command, _, said in told]


def expected(said: str) -> re.Pattern[str]:
    """What is shown, with `…` for anything, and with times, places and Pythons of another day."""
    lines = []
    for line in said.splitlines():
        text = re.escape(line).replace("…", ".*")
        text = re.sub(r"\d+\\\.\d+(?=\\ s|s$)", r"\\d+\\.\\d+", text)
        text = re.sub(r"Python\\ 3\\\.\d+", r"Python\\ 3\\.\\d+", text)
        text = re.sub(r"\d+\\ candidates", r"\\d+\\ candidates?", text)
        lines.append(r"(?:.*\n)*?" if line == "…" else f"{text}\\n")
    return re.compile("".join(lines))


@pytest.mark.nightly
@pytest.mark.slow
def test_the_first_screen_happens_as_it_is_shown(tmp_path: Path) -> None:
    project = tmp_path / "quorum"
    shutil.copytree(
        ROOT / "evaluation/bench/projects/quorum", project,
        ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"),
    )
    module = project / "quorum/__init__.py"
    assert module.read_text().count(RIGHT) == 1
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    heal = tmp_path / "bin/heal"
    heal.parent.mkdir()
    heal.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m agent "$@"\n')
    heal.chmod(0o755)
    paths = [str(heal.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {
        **{name: text for name, text in os.environ.items()
           if name not in ("VIRTUAL_ENV", "HEAL_REQUIRE_CONFIDENCE")},
        "PATH": os.pathsep.join(paths), "HEAL_DATA_DIR": str(tmp_path / "data"),
        "LLM_PROVIDER": "mock", "HEAL_BUDGET_S": "900", "HEAL_SEARCH_S": "100",
    }
    (install, _), (entered, _), (spoil, _), *rest = commands()
    # The wheel's own check installs it; here the checkout stands for what is installed.
    assert (install, entered.split()) == ("pipx install .", [
        "cp", "-r", "evaluation/bench/projects/quorum", "/tmp", "&&", "cd", "/tmp/quorum",
    ])
    subprocess.run(spoil, shell=True, cwd=project, check=True)
    assert RIGHT not in module.read_text()
    assert [command.partition(" ")[0] for command, _ in rest] == ["heal", "git", "python"]
    for command, said in rest:
        done = subprocess.run(
            command, shell=True, cwd=project, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )
        assert done.returncode == 0, done.stdout
        assert expected(said).search(done.stdout), f"{command} said:\n{done.stdout}"
    assert RIGHT in module.read_text()
