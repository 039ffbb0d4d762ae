"""Files that are sent become a program, or a small project which its own suite judges."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from agent.core.settings import Settings
from agent.interfaces.bundle import healed_project, patched
from agent.interfaces.project.upload import UploadedFile
from agent.interfaces.request import HealRequest
from agent.loop.session import open_session
from agent.report.result import fold
from agent.target.errors import BadInput, NotFixable
from demo.submission import prepare_input
from demo.views.bench import workbench
from tests.agent.runs import finished, settings
from tests.agent.search.project.small_project import pyproject

MODULE = b"def fee(days):\n    if days < 14:\n        return 0\n    return days - 14 + 1\n"
SUITE = b"from shop.fee import fee\n\ndef test_free():\n    assert fee(14) == 0\n\n" \
        b"def test_late():\n    assert fee(16) == 3\n"
HOST = Settings.from_env({}, provider="mock")


def zipped(files: dict[str, bytes]) -> UploadedFile:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return UploadedFile("shop.zip", written.getvalue())


def project(**more: bytes) -> UploadedFile:
    return zipped({
        "work/pyproject.toml": pyproject("shop").encode(), "work/shop/__init__.py": b"",
        "work/shop/fee.py": MODULE, "work/shop/other.py": b"from shop.fee import fee\n",
        "work/tests/test_fee.py": SUITE, **more,
    })


@pytest.mark.nightly
async def test_a_zip_is_healed_by_its_own_suite(tmp_path: Path) -> None:
    host = settings(tmp_path, proof_s=0.0)
    found = await prepare_input("", "", "", HealRequest(files=(project(),)), host)
    assert found.task is not None and found.task.project is not None
    async with open_session(host) as session:
        result = fold(await finished(session, found.task, title=found.title))
    assert result.outcome == "healed"
    assert "a/shop/fee.py" in result.diff
    assert patched(result) == "shop/fee.py"
    assert patched(replace(result, diff=2 * result.diff)) == "2 files"
    healed = healed_project(found.task, result)
    assert healed["tests/test_fee.py"].encode() == SUITE
    assert healed["shop/fee.py"] != MODULE.decode()
    shown = workbench(result)
    assert 'class="use-files"' in shown and 'class="use"' not in shown
    assert not Path(found.task.project.root).exists()


async def test_nothing_that_a_sent_project_asks_of_this_machine_is_given() -> None:
    asking = b"[tool.heal]\nloopback = true\nenvironment = ['HOME']\nread = ['/etc']\n"
    sent = project(**{"work/pyproject.toml": asking})
    found = await prepare_input("", "", "", HealRequest(files=(sent,)), HOST)
    assert found.task is not None and found.task.project is not None
    asked = found.task.project
    given = (asked.loopback, asked.environment, asked.readable, asked.test_s)
    assert given == (False, (), (), 10.0)
    assert not any("HOME" in notice or "/etc" in notice for notice in found.notices)


@pytest.mark.parametrize("files", [
    {"fee.py": MODULE, "tax.py": b"", "test_fee.py": b"x = 1\n"},
    {"conftest.py": b"", "test_fee.py": b"def test_a():\n    assert 0\n"},
    {"fee.py": MODULE, "tax.py": b"", "test_fee.py": b"from fee import nothing\n"},
])
async def test_no_refusal_of_an_upload_shows_a_server_path(files: dict[str, bytes]) -> None:
    with pytest.raises((BadInput, NotFixable)) as refused:
        await prepare_input("", "", "", HealRequest(files=(zipped(files),)), HOST)
    assert "heal-sent-" not in str(refused.value) and "/tmp" not in str(refused.value)


async def test_a_green_project_is_said_to_be_and_begins_no_run() -> None:
    right = MODULE.replace(b"<", b"<=").replace(b" + 1", b"").replace(b"- 14", b"- 13")
    suite = SUITE.replace(b"shop.fee", b"fee")
    sent = zipped({"fee.py": right, "tax.py": b"", "test_fee.py": suite})
    found = await prepare_input("", "", "", HealRequest(files=(sent,)), HOST)
    assert found.task is None
    assert found.heal_result(()).outcome == "healthy"


async def test_a_module_keeps_its_name_and_takes_a_file_of_tests_or_typed_ones() -> None:
    module, suite = UploadedFile("fee.py", MODULE), UploadedFile(
        "test_fee.py", SUITE.replace(b"shop.fee", b"fee")
    )
    found = await prepare_input("", "", "", HealRequest(files=(module, suite), args=("-v",)), HOST)
    assert found.task is not None and found.task.solution is not None
    assert found.task.solution.entry == "fee.py"
    assert [one.name for one in found.task.tests[:2]] == ["test_free", "test_late"]
    assert (found.task.argv, found.title) == (("-v",), "fee")
    typed = await prepare_input("", "assert fee(14) == 0", "", HealRequest(files=(module,)), HOST)
    assert typed.task is not None
    assert [one.name for one in typed.task.tests] == ["assert fee(14) == 0"]


async def test_code_beside_a_file_and_tests_beside_a_project_are_refused() -> None:
    module = UploadedFile("fee.py", MODULE)
    with pytest.raises(BadInput):
        await prepare_input("x = 1", "", "", HealRequest(files=(module,)), HOST)
    with pytest.raises(BadInput):
        await prepare_input("", "assert 1", "", HealRequest(files=(project(),), args=("-v",)), HOST)
