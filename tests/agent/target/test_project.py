"""A project laid out as it comes: where its module and tests lie, and what comes along."""

import re
from pathlib import Path

import pytest

from agent.target.project import MAX_MODULES, collect_project_files
from agent.target.task import Inputs, from_command_line

MODULE = "def double(n):\n    return 2 * n\n"
TEST = "from calc import double\n\ndef test_double():\n    assert double(2) == 4\n"


def lay(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def laid(folder: Path, module: str, tests: str = "") -> tuple[str, str, set[str]]:
    """Entry, test file and support of a project that lies in a folder."""
    project = collect_project_files(
        folder / module, (folder / module).read_text("utf-8"),
        folder / tests if tests else None,
        (folder / tests).read_text("utf-8") if tests else "",
    )
    return project.entry, project.tests, {file.path for file in project.support}


CALC = {"calc/__init__.py": "from .core import double\n", "calc/core.py": MODULE,
        "calc/unused.py": ""}

# Files, the module, the test file, and where these go with what comes along.
LAYOUTS = {
    "side by side": (
        {"calc.py": MODULE, "test_calc.py": TEST, "other.py": "", "notes.txt": ""},
        "calc.py", "test_calc.py", ("calc.py", "test_calc.py", set()),
    ),
    "tests in a folder": (
        {"calc.py": MODULE, "conftest.py": "", "tests/conftest.py": "", "tests/helper.py": "",
         "tests/test_calc.py": "import helper\n" + TEST, "tests/other.py": ""},
        "calc.py", "tests/test_calc.py",
        ("calc.py", "tests/test_calc.py",
         {"conftest.py", "tests/conftest.py", "tests/helper.py"}),
    ),
    "a package of tests": (
        {"calc.py": MODULE, "tests/__init__.py": "", "tests/tools.py": "",
         "tests/test_calc.py": "from .tools import x\nfrom tests import y\n" + TEST},
        "calc.py", "tests/test_calc.py",
        ("calc.py", "tests/test_calc.py", {"tests/__init__.py", "tests/tools.py"}),
    ),
    "a module of a package": (
        {**CALC, "tests/test_calc.py": TEST}, "calc/core.py", "tests/test_calc.py",
        ("calc/core.py", "tests/test_calc.py", {"calc/__init__.py"}),
    ),
    "a package itself": (
        {**CALC, "tests/test_calc.py": TEST}, "calc/__init__.py", "tests/test_calc.py",
        ("calc/__init__.py", "tests/test_calc.py", {"calc/core.py"}),
    ),
    "a source folder": (
        {**{f"src/{path}": text for path, text in CALC.items()}, "tests/test_calc.py": TEST},
        "src/calc/core.py", "tests/test_calc.py",
        ("calc/core.py", "tests/test_calc.py", {"calc/__init__.py"}),
    ),
    "tests within a package": (
        {"calc/__init__.py": "", "calc/core.py": MODULE, "calc/tests/__init__.py": "",
         "calc/tests/test_core.py": "from ..core import double\n" + TEST},
        "calc/core.py", "calc/tests/test_core.py",
        ("calc/core.py", "calc/tests/test_core.py",
         {"calc/__init__.py", "calc/tests/__init__.py"}),
    ),
    "a package that nobody names": (
        {"pack/__init__.py": "", "pack/calc.py": MODULE, "pack/test_calc.py": TEST},
        "pack/calc.py", "pack/test_calc.py",
        ("calc.py", "test_calc.py", set()),
    ),
    "data that a test names, or its folder": (
        {"calc.py": MODULE, "tests/data/one.txt": "1", "tests/two.csv": "2", "tests/no.log": "3",
         "tests/test_calc.py": TEST + "\nplaces = ['data', 'two.csv']\n"},
        "calc.py", "tests/test_calc.py",
        ("calc.py", "tests/test_calc.py", {"tests/data/one.txt", "tests/two.csv"}),
    ),
    "a file of the project that a test names": (
        {"calc.py": MODULE, "README.md": "", "LICENSE": "",
         "tests/test_calc.py": TEST + "\nplace = '../README.md'\n"},
        "calc.py", "tests/test_calc.py", ("calc.py", "tests/test_calc.py", {"README.md"}),
    ),
    "tests of another place": (
        {"a/b/c/d/calc.py": MODULE, "e/f/g/h/helper.py": "",
         "e/f/g/h/test_calc.py": "import helper\n" + TEST},
        "a/b/c/d/calc.py", "e/f/g/h/test_calc.py", ("calc.py", "test_calc.py", {"helper.py"}),
    ),
    "imports through each other": (
        {"main.py": "import first\nfrom pack import tool\n",
         "first.py": "from second import x\nimport main\n", "second.py": "x = 1\n", "no.py": "",
         "pack/__init__.py": "", "pack/tool.py": "from . import deep\n", "pack/deep.py": ""},
        "main.py", "",
        ("main.py", "",
         {"first.py", "second.py", "pack/__init__.py", "pack/tool.py", "pack/deep.py"}),
    ),
}


@pytest.mark.parametrize(("files", "module", "tests", "layout"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_project_comes_as_it_lies_with_what_is_needed(tmp_path, files, module, tests, layout):
    lay(tmp_path, files)

    assert laid(tmp_path, module, tests) == layout


@pytest.mark.parametrize(("name", "text", "comes"), [
    ("pytest.ini", "", True), ("tox.ini", "[pytest]\n", True), ("tox.ini", "[tox]\n", False),
    ("setup.cfg", "[tool:pytest]\n", True), ("pyproject.toml", "[project]\n", False),
    ("pyproject.toml", "[tool.pytest.ini_options]\n", True),
])
def test_pytests_configuration_comes_to_the_top(tmp_path, name, text, comes):
    lay(tmp_path, {name: text, "sub/calc.py": MODULE, "sub/test_calc.py": TEST})

    assert laid(tmp_path, "sub/calc.py", "sub/test_calc.py")[2] == ({name} if comes else set())


def test_data_that_is_no_text_comes_along_byte_by_byte(tmp_path):
    lay(tmp_path, {"calc.py": MODULE, "test_calc.py": TEST + "\nplace = 'one.bin'\n"})
    (tmp_path / "one.bin").write_bytes(b"\xff\xfe\x00")
    project = collect_project_files(
        tmp_path / "calc.py", MODULE, tmp_path / "test_calc.py",
        (tmp_path / "test_calc.py").read_text(),
    )

    (data,) = project.support
    assert data.text.encode("utf-8", "surrogateescape") == b"\xff\xfe\x00"


def test_a_file_that_the_program_opens_comes_along(tmp_path):
    text = (
        "from pathlib import Path\nimport tables\n"
        "open('rates.csv'), Path(__file__).parent / 'data/tax.json', open('.env'), open('gone')\n"
        "open('../above.txt'), 'notes', 'tables.py'\n"
    )
    lay(tmp_path, {
        "shop/main.py": text, "shop/tables.py": "open('more.bin', 'rb')\n", "above.txt": "",
        **{f"shop/{name}": "" for name in (
            "rates.csv", "data/tax.json", "data/other.json", ".env", "other.csv", "more.bin",
            "notes.txt",
        )},
    })

    assert laid(tmp_path, "shop/main.py", "") == (
        "main.py", "", {"tables.py", "rates.csv", "data/tax.json", "more.bin"}
    )


@pytest.mark.parametrize(("files", "why"), [
    ({f"m{number}.py": b"" for number in range(MAX_MODULES + 1)}, f"m{MAX_MODULES}.py was not"),
    ({"m0.py": b"x = '\xff'\n"}, "m0.py was not included: .*utf-8"),
])
def test_a_module_beside_it_that_cannot_come_along_is_named(tmp_path, files, why):
    for name, raw in files.items():
        (tmp_path / name).write_bytes(raw)
    text = "".join(f"import {name.removesuffix('.py')}\n" for name in files)
    project = collect_project_files(tmp_path / "main.py", text)

    assert len(project.support) == len(files) - 1
    assert len(project.notices) == 1 and re.match(why, project.notices[0])


def test_a_command_line_brings_a_package_with_its_tests(tmp_path):
    lay(tmp_path, {
        "calc/__init__.py": MODULE, "tests/helper.py": "FOUR = 4\n",
        "tests/test_calc.py": "from helper import FOUR\n" + TEST,
    })
    tests_file = tmp_path / "tests/test_calc.py"
    task = from_command_line(
        Inputs(str(tmp_path / "calc/__init__.py"), tests_file=tests_file)
    ).task

    assert task.solution is not None and task.solution.entry == "calc/__init__.py"
    assert [(test.name, test.file) for test in task.tests] == [
        ("test_double", "tests/test_calc.py"), ("test_calc.py::*", "tests/test_calc.py"),
    ]
    assert [file.path for file in task.support] == ["tests/helper.py"]
