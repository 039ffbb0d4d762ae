"""The lists of packages, the Space's front matter and the tables of the README agree."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import yaml
from dotenv import dotenv_values

from agent.core import domain
from agent.core.settings import Settings, provider_settings, table
from agent.interfaces import reference_docs
from agent.interfaces.terminal import options
from agent.iteration.models import key_names
from app import SPACE_MODEL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RUNTIME_EXTRAS = ("ui", "anthropic", "ollama", "openai", "local", "gguf")
CARD_PACKAGES = {
    "gradio", "langgraph", "anthropic", "ollama", "transformers", "torch", "accelerate",
    "bitsandbytes", "jsonschema", "pyyaml",
}



def required() -> list[str]:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def front_matter() -> dict[str, object]:
    _, head, _ = README.split("---\n", 2)
    loaded = yaml.safe_load(head)
    assert isinstance(loaded, dict)
    return loaded


def test_the_spaces_list_is_the_core_and_every_runtime_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = list(PROJECT["dependencies"])
    declared += [line for name in RUNTIME_EXTRAS for line in extras[name]]
    assert sorted(required()) == sorted(set(declared))


def test_the_model_of_a_space_is_fetched_while_it_is_built() -> None:
    repository, _, file = SPACE_MODEL.partition(":")
    assert front_matter()["preload_from_hub"] == [f"{repository} {file}"]


def test_the_spaces_list_stands_alone_and_holds_the_cards_packages() -> None:
    assert not [line for line in required() if line.startswith(("-", ".", "/"))]
    assert {re.split(r"[<>=\[]", line)[0] for line in required()} >= CARD_PACKAGES
    assert not [line for line in required() if ">=" not in line or "<" not in line]


def test_the_core_install_is_light() -> None:
    names = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["dependencies"]}
    assert not names & {"torch", "transformers", "gradio", "anthropic", "numpy", "pandas"}


def test_git_takes_no_key_and_no_memory() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {".env", "memory.db"} <= {*ignored}


def test_variables_that_others_know_keep_their_defaults() -> None:
    assert {row.variable: row.default for row in provider_settings()}.items() >= {
        "OLLAMA_GENERATOR_MODEL": "llama3.2:3b", "OLLAMA_BASE_URL": "http://localhost:11434",
        "HF_MODEL": "meta-llama/Llama-3.2-3B-Instruct", "USE_4BIT": False,
    }.items()
    known = Settings()
    assert (known.provider, known.max_iterations, known.parallel_strategies) == ("auto", 5, 3)


def test_each_change_is_tried_on_every_python_by_the_developers_commands() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    low, high = (int(minor) for minor in re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(low, high)]
    said = " ".join(step.get("run", "") for step in job["steps"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("check", "test", "test-all"):
        assert re.search(rf"\b{command}\b", said) and f"\n{command}: " in makefile
        assert f"\nmake {command} " in README
    assert any(line.startswith("pytest-cov") for line in PROJECT["optional-dependencies"]["test"])


def test_the_front_matter_is_valid_for_a_space() -> None:
    matter = front_matter()
    assert matter["sdk"] == "gradio"
    assert (ROOT / str(matter["app_file"])).is_file()
    assert len(str(matter["short_description"])) <= 60
    assert matter["license"] == "mit"
    assert matter["python_version"] in ("3.12.12", "3.10.13")
    assert matter["colorFrom"] in COLORS and matter["colorTo"] in COLORS


COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def test_the_front_matter_names_the_installed_gradio() -> None:
    gradio = pytest.importorskip("importlib.metadata").version("gradio")
    version = str(front_matter()["sdk_version"])
    bounds = next(line for line in required() if line.startswith("gradio"))
    assert gradio.split(".")[0] == version.split(".")[0]
    assert tuple(map(int, version.split("."))) >= tuple(
        map(int, re.search(r">=([\d.]+)", bounds)[1].split("."))  # type: ignore[index]
    )


def test_choices_of_options_have_the_order_of_the_types() -> None:
    """Equal `Literal` types are cached, so another order would show by what is imported first."""
    for name in ("ProofLevel", "Integrity"):
        assert get_args(getattr(options, name)) == get_args(getattr(domain, name))


def test_the_documents_tables_are_what_the_program_reads() -> None:
    """On a difference: `python -m agent.interfaces.reference_docs`."""
    for path, text in reference_docs.documents().items():
        assert path.read_text(encoding="utf-8") == text


def test_no_document_without_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_docs, "ROOT", tmp_path)
    with pytest.raises(SystemExit):
        reference_docs.main()
    assert not [*tmp_path.iterdir()]


def test_the_example_environment_changes_nothing_as_it_stands() -> None:
    values = dotenv_values(ROOT / ".env.example")
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    # Setting one of these changes the plan, so they stand as comments; and no line that is
    # uncommented may make a value of a remark.
    commented = {"GGUF_MODEL", "OLLAMA_GENERATOR_MODEL", "OLLAMA_BASE_URL", "HF_MODEL"}
    assert all(f"\n# {name}=" in text for name in commented)
    keys = re.findall(r"^# (\w+_API_KEY)=(.*)$", text, re.MULTILINE)
    assert {value for _, value in keys} == {""}
    assert {name for name, _ in keys} >= {*key_names()} - {"HF_TOKEN"}
    assert values.keys() | commented == {row.name for row in table()}

    shown = Settings.from_env({key: value or "" for key, value in values.items()})
    defaults = {row.variable: row.default for row in provider_settings()}
    assert {name: value for name, value in shown.options.items() if value != defaults[name]} == {}
    unset = {"options": {}, "environment": {}}
    assert shown.model_copy(update=unset) == Settings()


def test_no_path_of_a_machine_stands_in_the_project() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\n")
    found = []
    for name in filter(None, listed):
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".js", ".css", ""):
            text = path.read_text(encoding="utf-8", errors="replace")
            if re.search(r"(^|[\s\"'(=])/(home|root|work|Users)/\w", text, re.MULTILINE):
                found.append(name)
    assert found == []


def test_a_built_module_imports_under_the_installed_name() -> None:
    renamed = runpy.run_path(str(ROOT / "setup.py"))["renamed"]
    text = (
        '"""from llm import nothing"""\n'
        "from llm.types import Reply\n"
        "from agent import cli\n"
        "def late():\n    # from a comment\n    from sandbox import Job\n"
        "    yield from demo\n    raise ValueError from agent\n"
    )

    assert renamed(text) == (
        '"""from llm import nothing"""\n'
        "from selfheal.llm.types import Reply\n"
        "from selfheal.agent import cli\n"
        "def late():\n    # from a comment\n    from selfheal.sandbox import Job\n"
        "    yield from demo\n    raise ValueError from agent\n"
    )
    with pytest.raises(SyntaxError):
        renamed("import llm\n")
    with pytest.raises(SyntaxError, match="relative"):
        renamed("to_thread(import_module, 'agent.loop.graph')\n")


def test_a_checkout_has_the_sandbox_under_its_installed_name() -> None:
    guide = (ROOT / "docs/use-it-from-python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import asyncio\nfrom selfheal.*?)```", guide, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sandbox\nassert sandbox.Job is Job\n"], cwd=ROOT,
        capture_output=True, text=True, check=False,
    )
    assert done.stdout == "completed (42,)\n", done.stderr


def test_no_module_finds_its_data_by_the_names_of_a_checkout() -> None:
    """Installed, a package has another name: its own is `__package__`."""
    named = re.compile(
        r"""\b(?:files|import_module)\(\s*f?["'](?:agent|llm|sandbox|demo|prompts)\b"""
    )
    assert named.search('files("agent.search")')
    assert not [
        str(path) for room in ("agent", "demo", "llm", "sandbox")
        for path in (ROOT / room).rglob("*.py") if named.search(path.read_text("utf-8"))
    ]


@pytest.mark.nightly
def test_the_spaces_own_build_line_resolves() -> None:
    """What a Space runs before it copies the repository; only resolved here, not installed."""
    if not os.environ.get("CI"):
        pytest.skip("asks the package index for a minute; runs where CI is set")
    line = [f"gradio[oauth,mcp]=={front_matter()['sdk_version']}", "uvicorn>=0.14.0",
            "websockets>=10.4", "spaces"]
    outcome = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
         "-r", "requirements.txt", *line],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )
    assert outcome.returncode == 0, outcome.stderr[-2000:]
