"""What users bring becomes a task, or is refused with the right exit in a clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.domain import File
from agent.target.errors import BadInput, NotFixable
from agent.target.task import Inputs, TestText, from_command_line, from_page, make_task

ADD = "def add(a, b):\n    return a - b\n"


def test_all_sources_of_tests_are_joined_under_unique_names():
    code = (
        'def add(a, b):\n    """\n    >>> add(2, 2)\n    4\n    """\n    return a + b\n'
        "assert add(1, 1) == 2\n"
    )
    task = from_page(code, "assert add(1, 2) == 3\nassert add(1, 1) == 2", "add(3, 3) == 6").task

    assert task.solution is not None
    assert (task.solution.entry, task.solution.text) == ("solution.py", code)
    assert [(test.origin, test.code) for test in task.tests] == [
        ("user", "assert add(1, 2) == 3"), ("user", "assert add(1, 1) == 2"),
        ("doctest", "assert add(2, 2) == 4"), ("task", "assert add(3, 3) == 6"),
    ]
    assert len({test.name for test in task.tests}) == 4


def test_words_alone_are_a_task_with_their_examples():
    task = from_page(words="Write add: add(1, 2) == 3.").task

    assert task.solution is None and task.text.startswith("Write")
    assert [test.code for test in task.tests] == ["assert add(1, 2) == 3"]


@pytest.mark.parametrize(("tests", "entry"), [
    ("from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n", "calc.py"),
    ("import calc\nassert calc.add(1, 2) == 3", "calc.py"),
    ("from math import floor\nassert floor(add(1, 2)) == 3", "solution.py"),
])
def test_pasted_code_is_called_as_its_tests_import_it(tests, entry):
    task = from_page(ADD, tests).task

    assert task.solution is not None and task.solution.entry == entry


def test_pasted_windows_lines_are_lines():
    task = from_page(ADD.replace("\n", "\r\n"), "x = add(1, 2)\r\nassert x == 3\r\n").task

    assert task.solution is not None and task.solution.text == ADD
    assert task.tests[0].code == "x = add(1, 2)\nassert x == 3"


def test_triple_quotes_future_guard_private_names_and_decorators_are_ordinary_code():
    code = (
        "from __future__ import annotations\nimport functools\n\n"
        "TEXT = '''assert 1 == 2\nassert f(3)\n'''\n\n"
        "@functools.cache\ndef _inner(x):\n    return '\\ud800'\n\n"
        "def f(x):\n    return _inner(x)\n\n"
        "if __name__ == '__main__':\n    print(f(input()))\n"
    )
    task = from_page(code, "assert _inner(1) == '\\ud800'").task

    assert [test.code for test in task.tests] == ["assert _inner(1) == '\\ud800'"]
    assert task.model_dump_json()


BAD = {
    "nothing at all": (("", "", ""), "nothing to heal"),
    "comments only": (("# just this\n", "", ""), "only comments"),
    "a lone surrogate": (("x = '\ud800'\n", "", ""), "surrogate"),
    "a zero character": (("x = 1\0\n", "", ""), "zero"),
    "too much": (("x = 1\n" * 300_000, "", ""), "1 MB"),
}


@pytest.mark.parametrize("fields, word", BAD.values(), ids=BAD)
def test_input_that_cannot_be_used_is_bad_input(fields, word):
    with pytest.raises(BadInput, match=word):
        from_page(*fields)


INVALID = {
    "a syntax error": ("assert add(1, 2 == 3", "line 1", "invalid_tests"),
    "tests that test nothing": ("assert True", "always true", "invalid_tests"),
    "only comments": ("# later", "no code", "invalid_tests"),
    "a misspelt module": (
        "from solutoin import add\nassert add(1, 2) == 3", "from solution", "invalid_tests",
    ),
    "another name for the program": (
        "from sums import add\ndef test_a(): assert add(1, 2) == 3\n", "import sums, but the",
        "invalid_tests",
    ),
}


@pytest.mark.parametrize("tests, word, category", INVALID.values(), ids=INVALID)
def test_tests_that_cannot_be_used_are_not_fixable(tests, word, category):
    with pytest.raises(NotFixable, match=word) as refused:
        make_task(ADD, tests=[TestText(tests)])

    assert refused.value.category == category


def test_vacuous_tests_among_others_are_left_out_and_named():
    found = from_page(ADD, "assert True\nassert add(1, 2) == 3")

    assert [test.code for test in found.task.tests] == ["assert add(1, 2) == 3"]
    assert len(found.notices) == 1 and "'assert True'" in found.notices[0]


def test_a_truism_in_the_user_s_own_file_is_a_notice_only():
    found = from_page(ADD + "assert True\n")

    assert found.task.tests == () and "line 3" in found.notices[0]


def test_imports_that_are_no_mistake_are_not_refused():
    tests = "import pytest\ncalk = pytest.importorskip('calk')\ndef test_a(): assert calk.f()\n"
    tried = (
        "try:\n    import calk\nexcept ImportError:\n    calk = None\n"
        "def test_b(): assert not calk\n"
    )

    for text in (tests, tried):
        assert make_task(ADD, entry="calc.py", tests=[TestText(text, "test_it.py")]).task.tests

    task = make_task(
        ADD, entry="calc.py", support=[File(path="calk.py", text="two = 2\n")],
        tests=[TestText("from calk import two\nfrom calc import add\nassert add(1, 1) == two")],
    ).task

    assert len(task.tests) == 1


@pytest.mark.parametrize("code", ["import sklearn\n", "import maths\n"])
def test_whether_a_module_is_missing_or_misspelt_the_run_shows(code):
    assert make_task(code + ADD).task.solution is not None


def test_a_command_line_brings_files_siblings_stdin_and_arguments(tmp_path):
    (tmp_path / "calc.py").write_bytes(b"import rates\r\ndef add(a, b):\r\n    return a - b\r\n")
    (tmp_path / "rates.py").write_text("RATE = 2\n")
    (tmp_path / "extra.txt").write_text("1,2\n")
    (tmp_path / "lines.txt").write_text("5\n")
    (tmp_path / "test_calc.py").write_text(
        "from calc import add\n\nclass TestAdd:\n    def test_one(self):\n"
        "        assert add(1, 2) == 3\n"
    )
    found = from_command_line(Inputs(
        str(tmp_path / "calc.py"), tests=["assert add(2, 2) == 4"],
        tests_file=tmp_path / "test_calc.py", with_files=[tmp_path / "extra.txt"],
        stdin=f"@{tmp_path / 'lines.txt'}", args=["-v"],
    ))
    task = found.task

    assert [test.name for test in task.tests] == [
        "assert add(2, 2) == 4", "TestAdd::test_one", "test_calc.py::*"
    ]
    assert {file.path: file.text for file in task.support} == {
        "rates.py": "RATE = 2\n", "extra.txt": "1,2\n"
    }
    assert (task.stdin, task.argv) == ("5\n", ("-v",))
    assert any("site-packages" in site for site in task.site_dirs)
    assert found.source is not None and task.solution is not None
    assert found.source.encode(task.solution.text) == (tmp_path / "calc.py").read_bytes()


@pytest.mark.parametrize("asked", ["tests_file", "with_files", "stdin"])
def test_files_that_are_not_there_are_bad_input(tmp_path, asked):
    (tmp_path / "calc.py").write_text(ADD)
    none = tmp_path / "none.py"
    given = {"tests_file": none, "with_files": [none], "stdin": f"@{none}"}

    with pytest.raises(BadInput, match="does not exist"):
        from_command_line(Inputs(str(tmp_path / "calc.py"), **{asked: given[asked]}))


@pytest.mark.parametrize("end", ["sys.exit(main())", "raise SystemExit", "exit()"])
def test_an_end_that_no_import_survives_is_a_notice(end):
    (notice,) = make_task(f"{ADD}{end}\n", tests=[TestText("assert add(1, 2) == 3")]).notices

    assert "exits at line 3 whenever it is imported" in notice
    guarded = f"{ADD}if __name__ == '__main__':\n    {end}\n"
    assert make_task(guarded, tests=[TestText("assert add(1, 2) == 3")]).notices == ()


@pytest.mark.parametrize("terms", [500, 990, 1500, 3000, 20_000])
def test_a_program_that_is_nested_too_deeply_is_refused_in_words(terms: int) -> None:
    code = f"def f(x):\n    return x{' + 0' * terms} - 1\n"

    with pytest.raises(NotFixable, match="The program: the code is nested too deeply") as refused:
        from_page(code, "assert f(3) == 3")

    assert refused.value.category == "too_deep"


@pytest.mark.parametrize("terms", [170, 300, 990, 3000])
@pytest.mark.parametrize("test", [
    "assert f(3) == {}\n",
    "x = f(3)\nassert (\n    x\n    == {}\n)\n",
    "for x in range(3):\n    assert f(x) == {}\n    assert x\n",
    "def test_a():\n    assert f(3) == {}\n",
])
def test_tests_that_are_nested_deeply_are_read_or_refused(test: str, terms: int) -> None:
    program, deep = "def f(x):\n    return x\n", test.format("3" + " + 0" * terms)

    for code, tests in ((program, deep), (program + deep, "")):
        try:
            assert len(from_page(code, tests).task.tests) >= 1
        except NotFixable as refused:
            assert "nested too deeply" in str(refused)


def test_a_test_file_beside_the_program_is_named_if_no_test_is_given(tmp_path: Path) -> None:
    program, tests = tmp_path / "calc.py", tmp_path / "tests" / "test_calc.py"
    tests.parent.mkdir()
    program.write_text(ADD)
    tests.write_text("def test_a(): pass\n")
    (notice,) = from_command_line(Inputs(str(program))).notices
    assert f"--tests-file {tests}" in notice
    given = Inputs(str(program), tests=["assert add(1, 2) == 3"])
    assert from_command_line(given).notices == ()
