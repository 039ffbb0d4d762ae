"""What a project's tests are granted by name, and what a refusal names."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.core.domain import Project
from agent.target.errors import BadInput
from agent.target.repository.grants import GRANTS, Grants, grants_of, hints
from agent.verify.project.suite_run import run_suite
from sandbox.sandbox import open_sandbox


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that every user may read."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_grants_that_open_the_machine_are_separated(outside: Path) -> None:
    (outside / "data").mkdir()
    table = {"loopback": True, "timeout": 5, "environment": ["CI"], "read": ["data"]}
    found = grants_of(table, outside)
    data = str((outside / "data").resolve())
    assert found == Grants(True, 5.0, ("CI",), (data,))
    assert "CI" in found.risky_words and data in found.risky_words
    assert found.safe == Grants(True, 5.0) and found.safe.risky_words == ""
    assert grants_of({}, outside) == Grants()


@pytest.mark.skipif(os.geteuid() != 0, reason="for others each file is as they may read it")
def test_what_the_user_of_a_job_cannot_read_is_not_promised(outside: Path) -> None:
    outside.chmod(0o700)
    (outside / "data").mkdir()
    with pytest.raises(BadInput, match=str(outside)):
        grants_of({"read": ["data"]}, outside)


@pytest.mark.parametrize(("table", "fact"), [
    ({"loopbock": True}, "loopbock.*loopback "), ({"loopback": "yes"}, "loopback"),
    ({"timeout": 0}, "timeout"), ({"timeout": True}, "timeout"),
    ({"environment": "CI"}, "environment"), ({"environment": ["A=B"]}, "environment"),
    ({"read": ["no/such"]}, "/no/such"), ({"read": ["/"]}, "/"), ({"read": ["~"]}, "/"),
])
def test_what_is_no_grant_is_refused(table: dict[str, object], fact: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=fact):
        grants_of(table, tmp_path)


@pytest.mark.parametrize(("message", "setting"), [
    ("KeyError: 'DB_URL' at <frozen os>:679", 'environment = ["DB_URL"]'),
    ("KeyError: 'colour' at a.py:1", ""),
    ("PermissionError: [Errno 13] Permission denied at a.py:2; the jail opens only the "
     "program's own files; the jail allows no network", "loopback = true"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/data/x/a.csv' at a.py:7; the jail "
     "opens only the program's own files", 'read = ["/data/x"]'),
    ("PermissionError: [Errno 13] Permission denied: '/jail/1f/a/work' at a.py:7; the jail "
     "opens only the program's own files", ""),
    ("AssertionError: the jail allows no network", ""),
])
def test_a_failing_test_names_the_setting_that_would_help(message: str, setting: str) -> None:
    told = [*hints([("t", message), ("u", message)], Grants(), {"DB_URL": "x"})]
    named = [one.partition("`")[2].partition("`")[0] for one in told]
    assert named == ([setting] if setting else [])
    given = Grants(True, 0.0, ("DB_URL",), ("/data",))
    assert [*hints([("t", message)], given, {"DB_URL": "x"})] == []


SUITE = """
import os
import time


def test_variable():
    assert os.environ["HEAL_GRANTED"] == "yes" and "HEAL_KEPT" not in os.environ


def test_folder():
    assert open(FOLDER + "/rates.csv").read() == "eur,1"


def test_home_is_private_and_can_be_written():
    with open(os.path.expanduser("~/settings"), "w") as file:
        file.write("mine")


def test_time():
    time.sleep(30)
"""


@pytest.mark.nightly
async def test_what_is_granted_is_there_and_nothing_else(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / "rates.csv").write_text("eur,1")
    monkeypatch.setenv("HEAL_GRANTED", "yes")
    monkeypatch.setenv("HEAL_KEPT", "secret")
    files = {"test_a.py": f"FOLDER = {str(outside)!r}\n{SUITE}"}

    async def failing(**granted: object) -> list[str]:
        project = Project(root="/none", name="a", test_s=1.0, **granted)
        run = await run_suite(files, project, (), open_sandbox())
        return [node.partition("::")[2] for node in run.failing]

    assert await failing() == ["test_variable", "test_folder", "test_time"]
    granted = {"environment": ("HEAL_GRANTED", "HEAL_ABSENT"), "readable": (str(outside),)}
    assert await failing(**granted) == ["test_time"]


def test_each_grant_is_documented() -> None:
    guide = (Path(__file__).parents[4] / "docs/heal-a-project.md").read_text("utf-8")
    assert all(f"| `{name}` |" in guide for name in GRANTS)
