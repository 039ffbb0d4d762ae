"""What a run leaves to be taken along works where it is taken to."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from xml.etree import ElementTree

import pytest

from agent.core.domain import Task
from agent.interfaces.bundle import bundle, regression_tests
from agent.interfaces.project.upload import MAX_BYTES, UploadedFile, read_upload
from agent.loop.session import open_session
from agent.report.result import fold
from agent.target.errors import BadInput
from agent.target.task import TestText, from_page, make_task
from tests.agent.runs import finished, settings

CODE = "def _area(width, height):\n    return width + height\n"
TESTS = "assert _area(2, 5) == 10\nassert _area(1, 1) == 1"


async def unpacked(folder: Path, task: Task) -> Path:
    """The folder in which the bundle of the task's heal is unpacked."""
    async with open_session(settings(folder / "data")) as session:
        log = await finished(session, task)
    place = folder / "taken"
    with zipfile.ZipFile(io.BytesIO(bundle(task, log))) as archive:
        archive.extractall(place)
    return place


def passes(place: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=place,
        capture_output=True, check=False,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return done.returncode == 0


@pytest.mark.parametrize("task", [
    make_task(CODE, entry="shapes.py", tests=[TestText(TESTS)]).task,
    make_task(CODE, entry="shapes.py", tests=[TestText(
        "from shapes import _area\n\ndef test_area():\n    assert _area(2, 5) == 10\n",
        "test_shapes.py", "test_shapes.py",
    )]).task,
    from_page("total = 1\nfor n in range(2, 4):\n    total += n\nprint(total)\n",
              "assert output == '6\\n'").task,
    from_page("print('a')\nprint('  b')\n", "assert output == '''a\n  b\n'''\n"
              "if output:\n    assert f'''{output\n}''' == ('a\\n'\n '  b\\n')").task,
    make_task(CODE, entry="the-shapes.v2.py", tests=[TestText(TESTS)]).task,
], ids=["lines", "a file", "what is printed", "texts of several lines", "no name of a module"])
@pytest.mark.nightly
async def test_the_patch_and_saved_tests_go_from_red_to_green(tmp_path: Path, task: Task) -> None:
    place = await unpacked(tmp_path, task)
    healthy = not (place / "heal.patch").exists()
    assert passes(place)
    assert (place / "report.md").read_text()
    assert task.solution is not None
    program = place / ("submitted" if healthy else "healed") / task.solution.entry
    if not healthy:
        healed = program.read_text()
        program.write_text(task.solution.text)
        assert not passes(place)
        subprocess.run(["git", "apply", "../heal.patch"], cwd=program.parent, check=True)
        assert program.read_text() == healed
        assert passes(place)
    suite = ElementTree.parse(place / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert all(one.get("name") and one.get("classname") for one in suite.iter("testcase"))


def test_a_run_without_tests_leaves_none() -> None:
    task = from_page("print(1)\n").task
    assert regression_tests(task, fold(())) == ()


# What is sent over.


def packed(*entries: tuple[str, bytes], mode: int = 0, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", kind) as archive:
        for name, content in entries:
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode << 16, kind
            archive.writestr(entry, content)
    return written.getvalue()


def sent(content: bytes) -> UploadedFile:
    return UploadedFile("small.zip", content)


@pytest.mark.parametrize("content", [
    lambda: packed(("../out.py", b"x")),
    lambda: packed(("a/../../out.py", b"x")),
    lambda: packed(("/etc/cron.d/x.py", b"x")),
    lambda: packed(("C:\\x.py", b"x")),
    lambda: packed(("a.py", b"/etc/passwd"), mode=0o120777),
    lambda: packed(("a.py", b"0" * (MAX_BYTES + 1))),
    lambda: packed(*((f"{n}.py", b"") for n in range(501))),
    lambda: packed(("a.py", b"x"), ("a.py", b"y")),
    lambda: packed(("a", b"x"), ("a/b.py", b"y")),
    lambda: packed(("a.py", b"x"), kind=zipfile.ZIP_LZMA),
    lambda: packed(("a.txt", b"x")),
    lambda: packed(("a.py", b"x"))[:-9],
    lambda: b"not a zip",
    lambda: b"x" * 2_000_001,
])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_could_do_harm_is_refused(content: Callable[[], bytes]) -> None:
    with pytest.raises(BadInput):
        read_upload([sent(content())])


def test_plain_files_are_counted_before_anything_is_made_of_them() -> None:
    deep = "/".join("abcdefgh")
    many = [UploadedFile(f"{deep}/{number}.py", b"") for number in range(20_000)]
    began = process_time()
    with pytest.raises(BadInput, match=r"20,000.* 500 "):
        read_upload(many)
    read_upload(many[:500])
    assert process_time() - began < 1


def test_nothing_is_laid_down_that_would_be_run_outside_of_the_jail(tmp_path: Path) -> None:
    found = read_upload([sent(packed(
        ("shop/.git/config", b"[core]\nfsmonitor = evil\n"), ("shop/.venv/bin/python", b"evil"),
        ("shop/venv/pyvenv.cfg", b"home = /evil"), ("shop/basket.py", b"x = 1\n"),
        ("shop/tests/test_basket.py", b"def test(): pass\n"), ("shop/.coveragerc", b""),
    ))])
    found.write_to(tmp_path)
    laid = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")
                  if path.is_file())
    assert laid == [".coveragerc", "basket.py", "tests/test_basket.py"]
    assert len(found.notices) == 1 and "3" in found.notices[0]
    assert found.program is None


def test_one_module_and_its_tests_are_a_program_and_more_are_a_project() -> None:
    module, tests = UploadedFile("fee.py", b"x = 1\n"), UploadedFile("test_fee.py", b"")
    assert read_upload([module, tests]).program == module
    assert read_upload([module, tests, UploadedFile("tax.py", b"")]).program is None
    assert read_upload([module, UploadedFile("rates.json", b"")]).program is None
