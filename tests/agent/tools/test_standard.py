"""The tools of a workspace, and what hostile commands come to."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from agent.tools import CodeSandbox, ToolRegistry, Workspace, open_tools
from sandbox import Job, Sandbox, SandboxUnavailable, open_sandbox
from tests.agent.search.project.small_project import pyproject

FILES = {
    "pyproject.toml": pyproject("till"),
    "src/till/__init__.py": "from .money import total\n",
    "src/till/money.py": "def total(prices):\n    found = 0\n    return sum(prices) - found\n",
    "tests/test_money.py": (
        "import unittest\nfrom till import total\n\n\n"
        "def test_total():\n    assert total([1, 2]) == 3\n\n\n"
        "def test_wrong():\n    assert total([1, 2]) == 4\n\n\n"
        "class Cases(unittest.TestCase):\n    def test_none(self):\n"
        "        self.assertEqual(total([]), 0)\n"
    ),
    "latin.txt": "caf\udce9\n",
    "windows.txt": "one\r\ntwo\r\n",
}


@pytest.fixture
def workspace() -> Workspace:
    return Workspace(FILES, import_roots=("src", ""))


@pytest.fixture
def tools(workspace: Workspace) -> ToolRegistry:
    return open_tools(workspace)


async def done(tools: ToolRegistry, name: str, **arguments: Any) -> Any:
    """The output of a call that works."""
    result = await tools.call(name, arguments)
    assert result.ok, result.error
    return result.output


async def refusal(tools: ToolRegistry, name: str, **arguments: Any) -> str:
    result = await tools.call(name, arguments)
    assert not result.ok
    return result.error


def fingerprint(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(repr((path.as_posix(), path.lstat().st_mtime_ns)).encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


# Files.


async def test_files_are_listed_and_read(tools: ToolRegistry) -> None:
    assert await done(tools, "file_list") == sorted(FILES)
    assert await done(tools, "file_list", pattern="*.py") == [
        "src/till/__init__.py", "src/till/money.py", "tests/test_money.py",
    ]
    assert await done(tools, "file_read", path="src/till/money.py") == FILES["src/till/money.py"]
    lines = await done(tools, "file_read", path="src/till/money.py", first_line=2, last_line=2)
    assert lines == "    found = 0\n"
    for wrong in (0, -1):
        assert "last_line" in await refusal(
            tools, "file_read", path="src/till/money.py", last_line=wrong
        )
    assert "a.py" in await refusal(tools, "file_read", path="a.py")


async def test_lines_are_counted_as_in_search(tools: ToolRegistry, workspace: Workspace) -> None:
    workspace.write("odd.txt", "one\x0c\u2028\r\ntwo\r\nthree")
    assert (await done(tools, "search", pattern="two"))["found"][0] == "odd.txt:2: two"
    lines = await done(tools, "file_read", path="odd.txt", first_line=2, last_line=2)
    assert lines == "two\r\n"


async def test_files_are_written_and_added_to(tools: ToolRegistry, workspace: Workspace) -> None:
    await done(tools, "file_write", path="new/a.txt", content="one\n")
    await done(tools, "file_write", path="./new/a.txt", content="two\n", mode="append")
    assert workspace.files["new/a.txt"] == "one\ntwo\n"
    await done(tools, "file_write", path="new/a.txt", content="three")
    assert workspace.files["new/a.txt"] == "three"
    assert "'w'" in await refusal(tools, "file_write", path="a", content="x", mode="w")


@pytest.mark.parametrize(("name", "arguments"), [
    ("file_read", {}), ("file_write", {"content": "x"}),
    ("edit_file", {"old_content": "a", "new_content": "b"}),
])
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x"])
async def test_no_tool_takes_a_path_that_leads_out(
    tools: ToolRegistry, name: str, arguments: dict[str, str], path: str
) -> None:
    assert await refusal(tools, name, path=path, **arguments)


async def test_an_edit_needs_a_unique_piece(tools: ToolRegistry, workspace: Workspace) -> None:
    path = "src/till/money.py"
    workspace.write("a", "aaa")
    for file, piece, fact in (
        (path, "found", f" 2 .*{path}"), (path, "nowhere", " 0 "), (path, "", ""),
        ("a", "aa", " 2 "),  # overlapping pieces are counted
        ("windows.txt", "one\ntwo", r"\\r\\n"),
    ):
        said = await refusal(tools, "edit_file", path=file, old_content=piece, new_content="x")
        assert re.search(fact, said), said
    assert workspace.files == {**FILES, "a": "aaa"}
    await done(tools, "edit_file", path=path, old_content=" - found", new_content="")
    assert workspace.files[path].endswith("return sum(prices)\n")


async def test_binary_files_are_kept_unshown(tools: ToolRegistry, workspace: Workspace) -> None:
    for name, path, arguments in (
        ("file_read", "latin.txt", {}),
        ("file_write", "latin.txt", {"content": "x", "mode": "append"}),
        ("edit_file", "latin.txt", {"old_content": "caf", "new_content": "x"}),
        ("file_write", "a", {"content": "\ud800"}),
    ):
        assert "UTF-8" in await refusal(tools, name, path=path, **arguments)
    seen = await done(tools, "execute_code", code="print(open('latin.txt', 'rb').read())")
    assert seen["stdout"] == "b'caf\\xe9\\n'\n"
    assert workspace.files == FILES


# Search.


async def test_lines_are_found_in_files_of_a_pattern(tools: ToolRegistry) -> None:
    found = await done(tools, "search", pattern=r"def t\w+\(", file_pattern="*.py")
    assert found == {
        "found": [
            "src/till/money.py:1: def total(prices):",
            "tests/test_money.py:5: def test_total():",
            "tests/test_money.py:9: def test_wrong():",
            "tests/test_money.py:14:     def test_none(self):",
        ],
        "more": False,
    }
    found = await done(tools, "search", pattern="def", file_pattern="src/*", max_results=1)
    assert found == {"found": ["src/till/money.py:1: def total(prices):"], "more": False}
    found = await done(tools, "search", pattern="total", max_results=2)
    assert (len(found["found"]), found["more"]) == (2, True)
    assert (await done(tools, "search", pattern="caf."))["found"] == ["latin.txt:1: caf\\udce9"]
    assert (await done(tools, "search", pattern="^two$"))["found"] == ["windows.txt:2: two"]


async def test_a_pattern_that_takes_for_ever_is_ended(
    tools: ToolRegistry, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.tools.standard.SEARCH_S", 1.0)
    workspace.write("a.txt", "a" * 60 + "!")
    await refusal(tools, "search", pattern="^(a+)+$")
    workspace.write("b" * 100, "x")
    assert await done(tools, "search", pattern="x", file_pattern="*b" * 40 + "c") == {
        "found": [], "more": False,
    }


@pytest.mark.parametrize("arguments", [
    *({"pattern": one} for one in ("(", "[", "(?P<a", "a{99999999999}", "*")),
    *({"pattern": "x", "max_results": one} for one in (0, -1, 10**9, 2.5)),
])
async def test_invalid_patterns_are_refused(tools: ToolRegistry, arguments: dict[str, Any]) -> None:
    said = await refusal(tools, "search", **arguments)
    assert said and ("max_results" in said or len(arguments) == 1)


# Commands.


@pytest.mark.parametrize(("command", "stdout", "exit_code"), [
    ("python -c 'import till; print(till.total([2]))'", "2\n", 0),
    ("python3 tool.py 'a b' --flag", "['tool.py', 'a b', '--flag']\n", 5),
    ("python -u -m tool x", "['tool', 'x']\n", 5),
    ("python ./sub/deep.py", "deep True\n", 0),
    ("python -c 'import sys; sys.exit()'", "", 0),
    ("python -c 'import sys; sys.exit(\"bye\")'", "", 1),
    ("python missing.py", "", 1),
    ("python -m nowhere", "", 1),
])
async def test_python_commands_run_as_python_runs_them(
    tools: ToolRegistry, workspace: Workspace, command: str, stdout: str, exit_code: int
) -> None:
    workspace.write("tool.py", (
        "import os, sys\n"
        "print([os.path.basename(sys.argv[0]).removesuffix('.py') + '.py' * (__spec__ is None),"
        " *sys.argv[1:]])\nsys.exit(5)\n"
    ))
    workspace.write("sub/deep.py", "import near\nprint(near.NAME, __name__ == '__main__')\n")
    workspace.write("sub/near.py", "NAME = 'deep'\n")
    seen = await done(tools, "shell", command=command)
    assert (seen["stdout"], seen["exit_code"]) == (stdout, exit_code), seen


async def test_pytest_runs_as_a_command(tools: ToolRegistry) -> None:
    seen = await done(tools, "shell", command="pytest -q tests")
    assert "1 failed, 2 passed" in seen["stdout"]
    assert (seen["exit_code"], seen["written"]) == (1, [])


async def test_a_traceback_shows_the_program(tools: ToolRegistry, workspace: Workspace) -> None:
    workspace.write("bad.py", "def f():\n    return 1 / 0\n\nf()\n")
    seen = await done(tools, "shell", command="python bad.py")
    assert seen["stderr"] == (
        'Traceback (most recent call last):\n  File "bad.py", line 4, in <module>\n    f()\n'
        '  File "bad.py", line 2, in f\n    return 1 / 0\n           ~~^~~\n'
        "ZeroDivisionError: division by zero\n"
    )
    assert seen["error"] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("command", [
    "ls -la", "cat src/till/money.py", "git status", "rm -rf /", "bash -c 'python x.py'",
    "A=b python x",
    "python a.py && python b.py", "python a.py; rm x", "python a.py > out", "python a.py | cat",
    "", "   ", "python", "python -", "python -i", "python 'x", "python -W", "&& python a.py",
])
async def test_shell_syntax_is_refused_with_advice(tools: ToolRegistry, command: str) -> None:
    assert await refusal(tools, "shell", command=command)


async def test_what_a_command_writes_is_kept(tools: ToolRegistry, workspace: Workspace) -> None:
    code = (
        "import os, pathlib\n"
        "os.mkdir('out'); pathlib.Path('out/a.bin').write_bytes(b'\\xff')\n"
        "os.remove('latin.txt'); open('windows.txt', 'a').write('three')\n"
        "os.symlink('/etc/passwd', 'link'); os.symlink('windows.txt', 'near')\n"
        "1 / 0\n"
    )
    seen = await done(tools, "execute_code", code=code)
    assert (seen["written"], seen["removed"]) == (["out/a.bin", "windows.txt"], ["latin.txt"])
    assert sorted(one.split(" ")[0] for one in seen["notes"]) == ["link", "near"]
    assert workspace.files["out/a.bin"] == "\udcff"
    assert workspace.files["windows.txt"] == "one\r\ntwo\r\nthree"


@pytest.mark.nightly
async def test_excess_output_is_cut_and_reported(tools: ToolRegistry, workspace: Workspace) -> None:
    code = (
        "open('large', 'wb').write(bytes(2_000_001))\n"
        "for number in range(5): open(f'{number}', 'wb').write(b'\\xff' * 1_900_000)\n"
    )
    seen = await done(tools, "execute_code", code=code)
    assert seen["exit_code"] == 0, seen
    assert sorted(one.split(" ")[0] for one in seen["notes"])[-1] == "large"
    assert (len(seen["written"]), len(seen["notes"])) == (4, 2)
    assert {*workspace.files} == {*FILES, *seen["written"]}


async def test_what_a_command_leaves_unread_is_kept(
    tools: ToolRegistry, workspace: Workspace
) -> None:
    code = "import os; open('a', 'w').write('x'); os._exit(3)"
    seen = await done(tools, "execute_code", code=code)
    assert (seen["exit_code"], len(seen["notes"])) == (3, 1)
    assert workspace.files == FILES

    code = "import os; os.remove('latin.txt'); os.mkdir('a'); os.chmod('a', 0)"
    seen = await done(tools, "execute_code", code=code)
    # Root may list any folder, and then it is known.
    assert len(seen["notes"]) == 1 or seen["removed"] == ["latin.txt"]
    assert {*FILES} - {*workspace.files} == {*seen["removed"]}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("level", ["L3", "L2", "subprocess"])
@pytest.mark.nightly
async def test_commands_run_behind_every_backend(workspace: Workspace, level: str) -> None:
    sandbox = sandbox_at(level)
    tools = open_tools(workspace, sandbox)
    workspace.write("tool.py", "import windows\nprint(windows.X)\n")
    workspace.write("windows.py", "X = 1\n")
    seen = await done(tools, "shell", command="python tool.py")
    assert (seen["stdout"], seen["exit_code"], seen["removed"]) == ("1\n", 0, [])
    assert (await done(tools, "search", pattern="X = 1"))["found"] == ["windows.py:1: X = 1"]
    seen = await done(tools, "execute_code", code="open('new', 'w').write('x')")
    assert seen["written"] == ([] if level == "L2" else ["new"])
    seen = await done(tools, "shell", command="python -m windows")
    assert seen["exit_code"] == (1 if level == "L2" else 0)
    with CodeSandbox(blocked_imports=["socket"], sandbox=sandbox) as code:
        assert code.execute("print(1)").success
        assert code.execute("import socket").blocked == ("socket",)


def sandbox_at(level: str) -> Sandbox:
    """A backend; skips where this machine has none of that level."""
    if level == "subprocess":
        return open_sandbox(level)
    try:
        from sandbox.jail import JailSandbox

        return JailSandbox(level)  # type: ignore[arg-type]
    except (ImportError, SandboxUnavailable) as refusal:
        pytest.skip(str(refusal))


async def test_endless_commands_are_ended(tools: ToolRegistry) -> None:
    seen = await done(tools, "shell", command="python -c 'while True: pass'", timeout=0.5)
    assert (seen["timed_out"], seen["exit_code"]) == (True, None)
    assert "wall time" in seen["error"]
    for wrong in (0, -1, 601, "5"):
        assert "timeout" in await refusal(tools, "shell", command="python x.py", timeout=wrong)

    code = (
        "import os\n"
        "while True:\n"
        "    try:\n        os.fork()\n    except OSError:\n        pass\n"
    )
    seen = await done(tools, "execute_code", code=code, timeout=2)
    assert seen["exit_code"] is None or "PermissionError" in seen["error"] or seen["timed_out"]
    assert (await done(tools, "execute_code", code="print('alive')"))["stdout"] == "alive\n"


async def test_a_command_starts_processes_where_they_are_granted(tools: ToolRegistry) -> None:
    code = (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True).stdout)"
    )
    seen = await done(tools, "execute_code", code=code)
    grants = (await open_sandbox().isolation(Job("", processes=True))).grants
    if "processes" in grants:
        assert seen["stdout"] == "b'42\\n'\n"
    else:
        assert seen["exit_code"] == 1


async def test_memory_and_output_are_bounded(workspace: Workspace) -> None:
    tools = open_tools(workspace, max_output_bytes=2_000)
    seen = await done(tools, "execute_code", code="bytearray(10**11)")
    assert (seen["exit_code"], seen["error"]) == (1, "MemoryError")
    result = await tools.call("execute_code", {"code": "print('x' * 1_000_000)"})
    assert len(result.text.encode()) <= 2_000
    result = await tools.call("execute_code", {"code": "while True: print('x' * 1_000_000)"})
    assert len(result.text.encode()) <= 2_000


async def test_nothing_outside_is_read_or_reached(tools: ToolRegistry, tmp_path: Path) -> None:
    level = (await open_sandbox().isolation()).level
    if level == "L1":
        pytest.skip("there is no jail here")
    secret = tmp_path / "secret"
    secret.write_text("key")
    seen = await done(tools, "shell", command=f"python -c 'print(open(\"{secret}\").read())'")
    assert (seen["exit_code"], seen["stdout"]) == (1, "")
    code = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    assert (await done(tools, "execute_code", code=code))["exit_code"] == 1


# Tests.


@pytest.mark.nightly
async def test_tests_are_counted_and_failures_told(tools: ToolRegistry) -> None:
    told = await done(tools, "run_tests")
    assert told == {
        "green": False, "passed": 2, "failed": 1, "excluded": 0, "exit_code": 1,
        "failures": [{
            "test": "tests/test_money.py::test_wrong", "status": "failed",
            "message": "assert 3 == 4\n +  where 3 = total([1, 2])",
            "file": "tests/test_money.py", "line": 10,
        }],
        "problems": [],
    }
    told = await done(tools, "run_tests", test_command="python -m pytest -k 'total or none'")
    assert (told["green"], told["passed"]) == (True, 2)
    told = await done(tools, "run_tests", test_command="pytest tests/test_money.py::test_total")
    assert (told["green"], told["passed"]) == (True, 1)


async def test_a_suite_that_hangs_is_ended(workspace: Workspace) -> None:
    workspace.write("tests/test_hang.py", "def test_hang():\n    while True: pass\n")
    result = await open_tools(workspace, timeout_s=2).call("run_tests")
    assert not result.ok and "2 s" in result.error


async def test_missing_tests_are_not_green(tools: ToolRegistry, workspace: Workspace) -> None:
    told = await done(tools, "run_tests", test_command="pytest -k nothing_like_it")
    assert (told["green"], told["passed"]) == (False, 0)
    workspace.write("tests/test_broken.py", "import nowhere_to_be_found\n")
    told = await done(tools, "run_tests")
    assert not told["green"]
    assert "nowhere_to_be_found" in told["problems"][0]


async def test_another_command_is_sent_to_the_shell(tools: ToolRegistry) -> None:
    for command in ("python -m unittest", "make test", "pytest; rm x"):
        said = await refusal(tools, "run_tests", test_command=command)
        assert "shell" in said


async def test_the_users_folder_is_never_touched(tmp_path: Path) -> None:
    for path, text in FILES.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = fingerprint(tmp_path)
    tools = open_tools(Workspace.copy_of(tmp_path))
    await done(tools, "file_write", path="src/till/money.py", content="def total(p): return 4\n")
    await done(tools, "file_write", path="new.py", content="")
    await done(tools, "shell", command="python -c 'import os; os.remove(\"latin.txt\")'")
    told = await done(tools, "run_tests")
    assert [one["test"] for one in told["failures"]] == [
        "tests/test_money.py::test_total", "tests/test_money.py::Cases::test_none",
    ]
    assert fingerprint(tmp_path) == before
