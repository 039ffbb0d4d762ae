"""`docs/extending.md` is tried as it stands: changes are made in a copy, commands are run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(part.split("\n", 1) for part in re.split(r"^## ", GUIDE, flags=re.MULTILINE)[1:])
"""Title to text."""
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PRODUCT = ("agent", "app.py", "demo", "evaluation", "llm", "prompts", "sandbox")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product, compiled as it is: a section is tried on top of those before it."""
    copied = tmp_path_factory.mktemp("product")
    for name in _PRODUCT:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copied / name)
        else:
            shutil.copy(source, copied)
    return copied


def changed(text: str, change: str) -> str:
    """A text after a change whose lines begin with a space, a minus or a plus."""
    lines = change.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] != "+")
    new = "".join(line[1:] for line in lines if line[0] != "-")
    assert text.count(old) == 1, f"these lines stand there {text.count(old)} times:\n{old}"
    return text.replace(old, new)


def ran(command: str, tree: Path, saved: Path) -> str:
    """What a command prints in a tree, with what it saves in a folder."""
    env = {
        **os.environ, "HEAL_DATA_DIR": str(saved), "PYTHONPATH": str(tree),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    outcome = subprocess.run(
        command, shell=True, cwd=tree, env=env, capture_output=True, text=True, timeout=120,
        check=False,
    )
    return outcome.stdout + outcome.stderr


@pytest.mark.parametrize("title", SECTIONS)
@pytest.mark.nightly
def test_each_section_works(title: str, tree: Path, tmp_path: Path) -> None:
    commands = 0
    for kind, name, text in _BLOCK.findall(SECTIONS[title]):
        if kind == "diff":
            file = tree / name
            file.write_text(changed(file.read_text("utf-8"), text), encoding="utf-8")
        elif kind == "console":
            for told in text.removeprefix("$ ").split("\n$ "):
                command, _, expected = told.partition("\n")
                said = ran(command, tree, tmp_path)
                for line in filter(None, expected.splitlines()):
                    assert line in said, f"{command} said:\n{said}"
                commands += 1
        else:
            assert not (tree / name).exists(), f"{name} is there already"
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text, encoding="utf-8")
    assert commands, "a section shows that what it adds works"
