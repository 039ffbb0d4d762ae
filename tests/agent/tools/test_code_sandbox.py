"""A sandbox for pieces of code: each limit is the system's."""

from __future__ import annotations

import pytest

from agent.tools import CodeSandbox
from sandbox import open_sandbox

BLOCKED = ["subprocess", "socket", "os.system", "concurrent.futures"]


def test_it_runs_code_and_tells_how_it_ended() -> None:
    with CodeSandbox() as sandbox:
        found = sandbox.execute("import math\nprint(math.factorial(5), input())", stdin="hello\n")
        assert (found.stdout, found.stderr, found.exit_code) == ("120 hello\n", "", 0)
        assert (found.success, found.error, found.timed_out, found.blocked) == (True, "", False, ())
        failed = sandbox.execute("print('a')\nraise ValueError('no')")
        assert (failed.success, failed.exit_code, failed.stdout) == (False, 1, "a\n")
        assert failed.error == "ValueError: no"
        assert failed.stderr.startswith('Traceback (most recent call last):\n  File "<string>"')
        assert sandbox.execute("import sys; sys.exit(7)").exit_code == 7
        assert sandbox.execute("def f(:").error.startswith("SyntaxError")
        assert sandbox.execute("import os; os.kill(os.getpid(), 9)").exit_code is None


async def test_it_is_an_asynchronous_context_too() -> None:
    async with CodeSandbox() as sandbox:
        assert (await sandbox.aexecute("print(1)")).stdout == "1\n"
        assert sandbox.execute("print(2)").stdout == "2\n"
    with pytest.raises(RuntimeError, match="closed"):
        await sandbox.aexecute("print(1)")


def test_nothing_is_left_for_the_next() -> None:
    with CodeSandbox() as sandbox:
        sandbox.execute("import math, builtins; builtins.x = math.x = 1; open('a', 'w').write('x')")
        seen = sandbox.execute(
            "import math, os; print(os.path.exists('a'), hasattr(math, 'x'), 'x' in globals())"
        )
        assert seen.stdout == "False False False\n"


def test_time_is_bounded() -> None:
    with CodeSandbox(timeout_seconds=0.5) as sandbox:
        for code in ("while True: pass", "import time; time.sleep(600)", (
            "import signal, time\nfor one in range(1, 32):\n    try: signal.signal(one, "
            "signal.SIG_IGN)\n    except OSError: pass\nwhile True: pass"
        )):
            found = sandbox.execute(code)
            assert (found.timed_out, found.success, found.exit_code) == (True, False, None)
            assert found.error


def test_memory_is_bounded() -> None:
    code = "x = bytearray({} * 1024 * 1024)"
    with CodeSandbox(max_memory_mb=128) as sandbox:
        assert sandbox.execute(code.format(20)).success
        found = sandbox.execute(code.format(130))
        assert (found.success, found.error) == (False, "MemoryError")
    with CodeSandbox(max_memory_mb=512) as sandbox:
        assert sandbox.execute(code.format(130)).success


def test_output_is_bounded_errors_included() -> None:
    with CodeSandbox(max_output_bytes=1_000) as sandbox:
        assert sandbox.execute("print('x' * 900)").success
        for code in ("while True: print('x' * 100)",
                     "import sys\nwhile True: sys.stderr.write('x' * 100)"):
            found = sandbox.execute(code)
            assert (found.success, found.exit_code) == (False, None)
            assert len(found.stdout) + len(found.stderr) <= 1_000
            assert "1000" in found.error


@pytest.mark.parametrize("code", [
    "import subprocess", "from subprocess import run", "import subprocess as s",
    "__import__('subprocess')", "import importlib; importlib.import_module('subprocess')",
    "exec('import subprocess')", "import asyncio.subprocess", "import runpy; "
    "runpy.run_module('subprocess')", "from concurrent import futures",
    "import concurrent.futures.thread", "import importlib; importlib.import_module('.futures', "
    "'concurrent')", "import socket", "import http.client", "import os; os.system('true')",
    "from os import system; system('true')",
    "import sys; sys.modules.pop('subprocess', 0); import subprocess",
])
def test_blocked_imports_are_refused_however_they_are_spelt(code: str) -> None:
    with CodeSandbox(blocked_imports=BLOCKED) as sandbox:
        found = sandbox.execute(code)
        assert not found.success
        assert len(found.blocked) == 1 and found.blocked[0] in BLOCKED


def test_what_code_does_about_a_blocked_import_is_its_own_affair() -> None:
    code = "try:\n    import socket\nexcept ImportError as error:\n    print(error)"
    with CodeSandbox(blocked_imports=BLOCKED) as sandbox:
        found = sandbox.execute(code)
        assert (found.success, found.blocked) == (True, ("socket",))
        assert "socket" in found.stdout


@pytest.mark.parametrize("names", [
    ["os"], ["sys"], ["json"], ["traceback"], ["builtins"], ["io"], ["importlib"], ["os.path"],
    ["no.such.module"], ["numpy"], ["socket", "socket"],
])
def test_whatever_is_blocked_other_code_runs(names: list[str]) -> None:
    with CodeSandbox(blocked_imports=names) as sandbox:
        assert sandbox.execute("print(len('abc'))").stdout == "3\n"
        found = sandbox.execute(f"import {names[0]}")
        assert not found.success
        assert found.blocked == (names[0],) or names[0] in ("os.path", "no.such.module")


def test_only_the_blocked_modules_are_blocked() -> None:
    with CodeSandbox(blocked_imports=["sub", "json"]) as sandbox:
        assert sandbox.execute("import subprocess, os.path, concurrent.futures").success


async def test_the_jail_holds_whatever_is_blocked() -> None:
    if (await open_sandbox().isolation()).level == "L1":
        pytest.skip("there is no jail here")
    async with CodeSandbox() as sandbox:
        for code in ("import os; os.fork()", "import socket; socket.socket()",
                     "open('/etc/passwd')", "import os; print(os.listdir('/root'))",
                     "import subprocess, sys; subprocess.run([sys.executable])"):
            found = await sandbox.aexecute(code)
            assert (found.success, found.stdout) == (False, "")
        assert not (await sandbox.aexecute("import os\nwhile True: os.fork()")).success


@pytest.mark.parametrize(("arguments", "fact"), [
    ({"timeout_seconds": 0}, "timeout_seconds"), ({"max_output_bytes": 0}, "max_output_bytes"),
    ({"max_memory_mb": 8}, "64"), ({"blocked_imports": ["a b"]}, "'a b'"),
    ({"blocked_imports": [""]}, "''"),
])
def test_settings_that_cannot_be_are_refused(arguments: dict[str, object], fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        CodeSandbox(**arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        CodeSandbox(blocked_imports="socket")
