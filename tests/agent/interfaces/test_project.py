"""`heal run .` end to end: real suites, healed or refused, and what is left on disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from agent.interfaces.terminal.cli import app
from tests.agent.interfaces.conftest import a_line_has
from tests.agent.search.project.small_project import FAILING, FILES, laid, pyproject

MONEY = "src/till/money.py"
TESTS = "tests/test_money.py"
FAILED = "tests/test_money.py::Cases::test_shares"


def files_in(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def heal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command in the folder `tmp_path/till`."""
    for name in ("LLM_PROVIDER", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "till").mkdir()
    monkeypatch.chdir(tmp_path / "till")
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def outcomes(xml: bytes | str) -> dict[tuple[str, str], str]:
    """Class and name of each test case to the element that says how it came out."""
    cases = ElementTree.fromstring(xml).iter("testcase")
    return {
        (one.attrib["classname"], one.attrib["name"]): one[0].tag if len(one) else ""
        for one in cases
    }


def pytests_own(root: Path) -> bytes:
    """What pytest itself writes of a project's suite."""
    where = root.parent / "own.xml"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--junitxml={where}"], cwd=root,
        env={**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
        capture_output=True,
    )
    return where.read_bytes()


def test_a_test_that_alone_has_changed_may_be_wrong(
    tmp_path: Path, heal: Callable[..., Result]
) -> None:
    root = tmp_path / "till"
    (root / "pyproject.toml").write_text("")
    (root / "work.py").write_text("def double(x):\n    return 2 * x\n")
    test = root / "test_work.py"
    test.write_text("from work import double\n\ndef test():\n    assert double(2) == 4\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    test.write_text(test.read_text().replace("4", "5"))
    note = "the failing tests have changed since the last commit, the code has not"
    assert note in heal("check", ".").stderr
    (root / "work.py").write_text("def double(x):\n    return 3 * x\n")
    assert note not in heal("check", ".").stderr


def test_a_red_suite_is_healed_and_reported(tmp_path: Path, heal: Callable[..., Result]) -> None:
    root = laid(tmp_path / "till")
    before = files_in(root)
    done = heal(
        "run", ".", "--json", "--apply", "--out", tmp_path / "heal.patch",
        "--report", tmp_path / "heal.md", "--junit", tmp_path / "heal.xml",
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    # What was found and judged.
    assert (found["outcome"], found["integrity"], found["strategy"]) == (
        "healed", "in-process", "search"
    )
    assert a_line_has(done.stderr, 9, 3)
    assert {*found["project"]["failed_before"]} == FAILING
    assert found["project"]["changed"] == [{"file": MONEY, "line": 13}]
    assert found["project"]["root"] == str(root)
    assert found["suspects"][0]["file"] == MONEY
    assert found["suspects"][0]["functions"][0]["name"] == "split"
    assert {one["id"] for one in found["tests"]} >= FAILING and len(found["tests"]) == 9
    # The tree has the edit and nothing else; what was there is kept outside of it.
    now = files_in(root)
    assert {path for path in now if now[path] != before.get(path)} == {MONEY}
    assert before.keys() == now.keys()
    (backup,) = (tmp_path / "data").rglob("*.heal-backup")
    assert backup.read_text() == before[MONEY]
    # The patch is for git, from the top of the project.
    clean = laid(tmp_path / "clean")
    patch = tmp_path / "heal.patch"
    assert patch.read_text() == found["diff"]
    for arguments in (["--check"], []):
        subprocess.run(["git", "apply", *arguments, str(patch)], cwd=clean, check=True)
    assert (clean / MONEY).read_text() == now[MONEY]
    # The suite is as pytest itself writes it.
    written = (tmp_path / "heal.xml").read_bytes()
    assert outcomes(written) == outcomes(pytests_own(root))
    suite = ElementTree.fromstring(written)[0].attrib
    assert [suite[key] for key in ("tests", "failures", "errors", "skipped")] == [
        "9", "0", "0", "3"
    ]
    # The report.
    told = (tmp_path / "heal.md").read_text()
    assert found["diff"] in told and a_line_has(told, MONEY, "line 13")
    assert a_line_has(told, FAILED, "tests/test_money.py:40") and a_line_has(told, "in-process")


def test_an_unhealed_project_is_not_written(tmp_path: Path, heal: Callable[..., Result]) -> None:
    money = FILES[MONEY].replace("amount // people", "int('no' + str(people))")
    root = laid(tmp_path / "till", {MONEY: money})
    before = files_in(root)
    done = heal(
        "run", FAILED, "--exclude", MONEY, "--apply", "--out", tmp_path / "heal.patch",
        "--report", tmp_path / "heal.md",
    )
    assert (done.exit_code, done.stdout) == (1, ""), done.output
    assert a_line_has(done.stderr, 3, 1) and FAILED in done.stderr
    assert a_line_has(done.stderr, "ValueError")
    assert files_in(root) == before and not (tmp_path / "heal.patch").exists()
    assert not (tmp_path / "data" / "backups").exists()
    assert (tmp_path / "heal.md").exists()


@pytest.mark.nightly
def test_a_syntax_error_in_a_module_is_healed(tmp_path: Path, heal: Callable[..., Result]) -> None:
    money = FILES[MONEY].replace("(people - 1)", "people").replace("people):", "people:")
    laid(tmp_path / "till", {MONEY: money})
    done = heal("run", ".")
    assert done.exit_code == 0, done.output
    assert a_line_has(done.stderr, MONEY, "line 11")
    assert "-def split(amount, people:\n+def split(amount, people):\n" in done.stdout


@pytest.mark.parametrize(("right", "wrong"), [
    ("def total(", "HALVES = [one / 2 for one in RATES.valeus()]\n\n\ndef total("),
    pytest.param("from .money import", "from .mony import", marks=pytest.mark.nightly),
])
def test_a_module_that_raises_when_it_is_imported_is_healed(
    right: str, wrong: str, tmp_path: Path, heal: Callable[..., Result]
) -> None:
    right_money = FILES[MONEY].replace("(people - 1)", "people")
    package = FILES["src/till/__init__.py"]
    root = laid(tmp_path / "till", {
        MONEY: right_money.replace(right, wrong), "src/till/__init__.py":
        package.replace(right, wrong),
    })
    done = heal("run", ".", "--apply", "--accept-proposed")
    assert done.exit_code in (0, 8), done.output
    assert a_line_has(done.stderr, "when it is imported", "so the tests that need it cannot run")
    after = (root / MONEY).read_text() + (root / "src/till/__init__.py").read_text()
    assert ".values()]" in after or "from .money" in after
    assert "valeus" not in after and "mony " not in after


@pytest.mark.parametrize("ids", ["", pytest.param(", ids=['a', 'b']", marks=pytest.mark.nightly)])
def test_a_failing_row_is_no_contradiction_of_the_passing_one(
    ids: str, tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till", {
        MONEY: "def double(n):\n    return 2 * n if n < 2 else 2 * n + 1\n\n\n"
               "def minus(a, b):\n    return b - a\n",
        "src/till/__init__.py": "",
        TESTS: f"""
import pytest
from till.money import double, minus

@pytest.mark.parametrize('n, twice', [(1, 2), (2, 4)]{ids})
def test_double(n, twice):
    assert double(n) == twice

def test_minus():
    assert minus(7, 2) == 5
    assert minus(2, 9) == -7
""",
    })
    done = heal("run", f"{TESTS}::test_minus", "--accept-proposed")
    assert done.exit_code == 0, done.output
    assert "+    return a - b" in done.stdout


@pytest.mark.parametrize(("more", "decides"), [
    ("", r"for `fee\(\d+\)` A gives \d+, B gives \d+.*Add a test that decides\.$"),
    # No call of the tests, which pass an object, shows where the repairs differ.
    pytest.param(
        "    days = days.days\n", "Several repairs pass the suite", marks=pytest.mark.nightly
    ),
], ids=["literals", "objects"])
def test_a_call_that_distinguishes_competing_patches_is_named(
    more: str, decides: str, tmp_path: Path, heal: Callable[..., Result]
) -> None:
    given = "timedelta({})" if more else "{}"
    laid(tmp_path / "till", {
        MONEY: f"from .rates import RATE\n\n\ndef fee(days):\n{more}    if days > 7:\n"
               "        return RATE * days\n    return days\n",
        "src/till/rates.py": "RATE = 2\n", "src/till/__init__.py": "", TESTS: f"""
from datetime import timedelta
from till.money import fee

def test_fee():
    assert fee({given.format(7)}) == 14

def test_short():
    assert fee({given.format(1)}) == 1
""",
    })
    done = heal("run", ".")
    assert "+    if days >= 7:" in done.stdout, done.output
    assert re.search(decides, done.stderr, re.MULTILINE), done.stderr


def test_a_folder_of_the_name_of_an_installed_package_replaces_nothing(
    tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till", {"pluggy/notes.py": "x = 1\n"})
    done = heal("check", ".")
    assert done.exit_code == 1 and "was not run" not in done.stderr, done.output


def test_django_without_settings_is_said_with_their_option(
    tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till", {
        "tests/settings.py": "DEBUG = True\n", "manage.py": "",
        TESTS: (
            "class ImproperlyConfigured(Exception):\n    pass\n\n\ndef test_a():\n"
            "    raise ImproperlyConfigured('Requested setting A, but settings are not configured')"
        ),
    })
    done = heal("check", ".")
    said = re.sub(r"\s+", " ", done.stderr)
    assert "--ds=tests.settings" in said and "--test-cmd 'python manage.py test'" in said


def test_a_test_file_that_needs_a_missing_package_is_left_out(
    tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till", {"tests/test_extra.py": "import nowhere_to_be_found\n"})
    done = heal("run", ".", "--json")
    assert done.exit_code == 0, done.output
    assert a_line_has(done.stderr, "tests/test_extra.py", "nowhere_to_be_found", "left out")
    found = json.loads(done.stdout)
    assert found["project"]["uncollected"] == ["tests/test_extra.py"]
    assert "1 test file not collected" in found["reason"]


def test_a_green_suite_leaves_no_reports(tmp_path: Path, heal: Callable[..., Result]) -> None:
    money = FILES[MONEY].replace("(people - 1)", "people")
    root = laid(tmp_path / "till", {MONEY: money})
    before = files_in(root)
    done = heal()
    assert done.exit_code == 0, done.output
    assert a_line_has(done.stderr, "6 of 9")
    assert done.stdout == "" and files_in(root) == before
    assert not (tmp_path / "data" / "runs.db").exists()


REFUSALS: dict[str, tuple[dict[str, str | None], int, str]] = {
    "no tests": ({TESTS: None}, 4, "/till"),
    "a package that is missing": (
        {TESTS: "import nowhere_to_be_found\n"}, 4,
        r"nowhere_to_be_found .*tests/test_money\.py:1",
    ),
    "a name that a module of its own has not": (
        {TESTS: "from till.money import splt\n"}, 4, r"'splt' .*src/till/money\.py",
    ),
    "a variable that is missing": (
        {MONEY: "import os\nURL = os.environ['NO_SUCH_NAME']\n"}, 4, r"NO_SUCH_NAME",
    ),
    "a variable that is missing, read by its default": (
        {MONEY: "import os\nPORT = int(os.environ.get('NO_SUCH_NAME'))\n"}, 4, r"NoneType",
    ),
    "a file that is missing": (
        {MONEY: "RATES = open('rates.json').read()\n"}, 4, r"rates\.json",
    ),
    "a mistake at import beside a package that is missing": (
        {MONEY: "RATES = {}.valeus()\n", "tests/test_b.py": "import nowhere_to_be_found\n"}, 4,
        r"nowhere_to_be_found",
    ),
    "a module of its own that is not found": (
        {TESTS: "import till.purse\n"}, 4, r"till\.purse.*`pythonpath`",
    ),
    "a conftest that fails": (
        {"tests/conftest.py": "import nowhere_to_be_found\n"}, 4, "conftest.*nowhere",
    ),
    "an option that pytest does not know": (
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--no-such-option"\n'}, 4,
        "--no-such-option",
    ),
    "a syntax error in a test": (
        {TESTS: "def test_a(:\n    pass\n"}, 4, r"SyntaxError.*tests/test_money\.py:1",
    ),
    "a test that ends its process": (
        {TESTS: "import os\ndef test_a():\n    os._exit(3)\n"}, 4,
        r"exit code 3.*--deselect 'tests/test_money\.py::test_a'",
    ),
    "a file that ends its process": (
        {TESTS: "raise SystemExit\n"}, 4, r"tests/test_money\.py .*SystemExit",
    ),
    "settings that are broken": ({"pyproject.toml": "[broken"}, 2, "pyproject.toml"),
    "no module to edit": (
        {MONEY: None, "src/till/__init__.py": None,
         TESTS: "def test_a():\n    assert not 1\n"}, 4, "/till",
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_healed_is_refused_in_a_sentence(
    name: str, tmp_path: Path, heal: Callable[..., Result]
) -> None:
    texts, code, facts = REFUSALS[name]
    root = laid(tmp_path / "till", texts)
    before = files_in(root)
    done = heal("run", ".", "--apply", "--out", tmp_path / "heal.patch")
    said = re.sub(r"\s+", " ", done.stderr)
    assert (done.exit_code, bool(re.search(facts, said))) == (code, True), said
    assert "pip install" not in said
    assert files_in(root) == before and not (tmp_path / "heal.patch").exists()


@pytest.mark.slow
@pytest.mark.nightly
def test_time_that_is_over_before_a_test_fails_is_said_also_beside_a_missing_package(
    tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till", {
        TESTS: "import time\n\ndef test_waits():\n    time.sleep(60)\n",
        "tests/test_absent.py": "import no_such_package_here\n",
    })
    done = heal("run", ".", "--timeout", "20")
    said = re.sub(r"\s+", " ", done.stderr)
    assert (done.exit_code, "give more --timeout" in said) == (5, True), said


def test_a_path_is_not_needed_inside_a_project(
    tmp_path: Path, heal: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = laid(tmp_path / "till")
    monkeypatch.chdir(root / "src")
    done = heal("run", "-k", "test_no_such_name_here")
    assert "cannot be used here" not in done.stderr
    assert "till: 2 modules" in done.stderr
    # A word that is misspelt does not make a red suite healthy.
    assert (done.exit_code, "matches no test" in done.stderr) == (2, True)


@pytest.mark.parametrize("words", [
    ["--json", "--format", "github"], ["--watch", "--json"], ["--watch", "--format", "github"],
])
def test_forms_of_output_that_exclude_each_other_are_refused(
    words: list[str], tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till")
    done = heal("run", ".", *words)
    assert done.exit_code == 2
    assert words[0] in done.stderr


@pytest.mark.parametrize("command", ["run", pytest.param("check", marks=pytest.mark.nightly)])
def test_a_test_that_hangs_is_named(
    command: str, tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till", {TESTS: "import time\ndef test_a():\n    time.sleep(600)\n"})
    done = heal(command, ".", "--test-timeout", "1")
    assert done.exit_code == 4
    assert "tests/test_money.py::test_a" in done.stderr and "--test-timeout" in done.stderr


@pytest.mark.slow
@pytest.mark.nightly
def test_an_endless_loop_of_a_project_is_repaired(
    tmp_path: Path, heal: Callable[..., Result]
) -> None:
    root = tmp_path / "steps"
    (root / "tests").mkdir(parents=True)
    (root / "pyproject.toml").write_text(pyproject("steps"))
    (root / "steps.py").write_text(
        "def steps(left):\n    count = 0\n    while left > 0:\n        left += 1\n"
        "        count += 1\n    return count\n"
    )
    (root / "tests/test_steps.py").write_text(
        "from steps import steps\n\n\ndef test_three():\n    assert steps(3) == 3\n\n\n"
        "def test_five():\n    assert steps(5) == 5\n\n\n"
        "def test_none():\n    assert steps(0) == 0\n"
    )
    done = heal("run", str(root), "--test-timeout", "1", "--accept-proposed")
    assert done.exit_code == 0, done.stderr
    assert "+        left -= 1" in done.stdout


@pytest.mark.parametrize(("arguments", "fact"), [
    (["run", ".", "--tests", "assert 1"], "--tests"),
    (["run", ".", "--ask"], "--ask"),
    (["run", ".", "--require-proof", "E4"], "at most E2"),
    (["run", f"{MONEY}", "-k", "a"], "-k"),
    (["run", f"{MONEY}", "--report", "a.md"], "--report"),
    (["run", ".", "--junit", "pyproject.toml"], "pyproject.toml"),
    (["run", "nowhere/test_a.py::test_b"], "nowhere/test_a.py"),
    (["run", ".", "--lf"], "--lf"),
])
def test_options_that_would_do_nothing_are_refused(
    arguments: list[str], fact: str, tmp_path: Path, heal: Callable[..., Result]
) -> None:
    laid(tmp_path / "till")
    done = heal(*arguments)
    assert (done.exit_code, fact in done.stderr) == (2, True), done.stderr
