"""Remote backends are opened with what they need, or refused with what to do."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Job, SandboxError, SandboxUnavailable, open_sandbox
from sandbox.__main__ import main
from sandbox.remote.bootstrap import bootstrap_command, encoded_sources
from sandbox.sandbox import BACKENDS, REMOTE

ROOT = Path(__file__).parents[3]
VARIABLES = {"e2b": "E2B_API_KEY", "daytona": "DAYTONA_API_KEY"}


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("environment", [{}, {"E2B_API_KEY": " ", "DAYTONA_API_KEY": ""}])
def test_a_missing_key_is_named_and_nothing_runs(name: str, environment: dict[str, str]) -> None:
    with pytest.raises(SandboxUnavailable, match=rf"set {VARIABLES[name]}.*Nothing was run"):
        open_sandbox(name, environment)


@pytest.mark.parametrize("name", VARIABLES)
def test_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (required,) = extras["optional-dependencies"][name]

    with pytest.raises(SandboxUnavailable) as caught:
        open_sandbox(name, {VARIABLES[name]: "k"})

    assert str(caught.value).endswith(f"run: pip install {required.partition('>')[0]}")


@pytest.mark.parametrize("name", VARIABLES)
async def test_a_broken_library_is_reported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_sandbox(name, {VARIABLES[name]: "k"})
    for module in ("e2b_code_interpreter", "daytona"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SandboxError, match="its SDK is broken; run: pip install"):
        await opened.run(Job("pass"))


@pytest.mark.parametrize("name", VARIABLES)
def test_the_terminal_says_what_is_missing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLES[name], raising=False)
    sign = tmp_path / "sign"
    program = tmp_path / "program.py"
    program.write_text(f"open({str(sign)!r}, 'w')")

    code = main(["--backend", name, "run", str(program)])

    assert code == 3
    assert VARIABLES[name] in capsys.readouterr().err
    assert not sign.exists()


@pytest.mark.parametrize(
    ("mode", "said"), [("no daemon", "no docker daemon answers.*Cannot connect"), (None, "install")]
)
def test_docker_is_refused_where_no_daemon_answers(
    docker: Callable[..., dict[str, str]], tmp_path: Path, mode: str | None, said: str
) -> None:
    environment = docker(mode) if mode else {"PATH": str(tmp_path)}

    with pytest.raises(SandboxUnavailable, match=said):
        open_sandbox("docker", environment)


def test_no_library_of_a_service_is_imported_before_a_sandbox_is_asked_for() -> None:
    text = (
        "import sys\n"
        "from sandbox import open_sandbox\n"
        "open_sandbox('e2b', {'E2B_API_KEY': 'k'})\n"
        "open_sandbox('daytona', {'DAYTONA_API_KEY': 'k'})\n"
        "print([n for n in ('e2b', 'e2b_code_interpreter', 'daytona', 'httpx', 'aiohttp')"
        " if n in sys.modules])\n"
    )

    shown = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True)

    assert (shown.stdout, shown.stderr) == ("[]\n", "")


def test_each_remote_backend_has_a_row_and_few_source_bytes() -> None:
    assert [name for name, place in BACKENDS.items() if ".remote." in place] == list(REMOTE)

    assert len(encoded_sources()) < 200_000


def test_an_old_python_is_reported() -> None:
    *_, text = bootstrap_command()
    older = text.replace("(3, 11)", "(99, 1)")

    ended = subprocess.run(
        [sys.executable, "-I", "-c", older], input="", capture_output=True, text=True
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("Python 3.11 or later is needed in the sandbox")
