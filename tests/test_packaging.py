"""The lists of packages, the Space's front matter and the tables of the README agree."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from agent.settings import ENVIRONMENT, Settings
from llm.plan import Wishes
from llm.provider import PROVIDERS
from llm.providers.presets import PRESETS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RUNTIME_EXTRAS = ("ui", "anthropic", "ollama", "openai", "local")
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
    assert sorted(required()) == sorted(declared)


def test_the_spaces_list_stands_alone_and_holds_the_cards_packages() -> None:
    assert not [line for line in required() if line.startswith(("-", ".", "/"))]
    assert {re.split(r"[<>=\[]", line)[0] for line in required()} >= CARD_PACKAGES


def test_every_requirement_has_a_tested_lower_and_an_upper_bound() -> None:
    assert not [line for line in required() if ">=" not in line or "<" not in line]


def test_the_core_install_is_light() -> None:
    names = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["dependencies"]}
    assert not names & {"torch", "transformers", "gradio", "anthropic", "numpy", "pandas"}


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


def test_the_readmes_table_of_settings_is_the_programs() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_0-9]+)` \| `?([^`|]+?)`? \|", README, re.MULTILINE))
    defaults = {field.name: field.default for field in fields(Settings)}
    assert rows.keys() == set(ENVIRONMENT.values())
    for name, variable in ENVIRONMENT.items():
        shown, default = rows[variable], defaults[name]
        if variable == "HEAL_CACHE":
            assert (shown, default) == ("0", "off")
        elif isinstance(default, bool):
            assert shown == str(int(default)), variable
        elif isinstance(default, int | float):
            assert float(shown) == float(default), variable
        elif isinstance(default, str):
            assert shown == (default or "none"), variable


def test_the_readmes_table_of_providers_is_the_programs() -> None:
    rows = {
        row[0]: row for row in re.findall(
            r"^\| `([a-z-]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", README, re.MULTILINE
        )
    }
    keys = {name: row.key_name for name, row in PROVIDERS.items()} | {
        name: preset.key_name for name, preset in PRESETS.items()
    }
    assert rows.keys() == keys.keys()
    for name, (_, needs, key, model) in rows.items():
        assert f"`{keys[name]}`" in key if keys[name] else key == "none", name
        extra = PROVIDERS[name].extra if name in PROVIDERS else ""
        assert f'".[{extra}]"' in needs if extra else "the same" in needs, name
        if name in PRESETS:
            assert model.startswith(PRESETS[name].model or "none"), name
    wishes = Wishes()
    assert rows["anthropic"][3].startswith(wishes.anthropic_model)
    assert wishes.anthropic_fast_model in rows["anthropic"][3]
    assert (rows["ollama"][3], rows["huggingface"][3]) == (wishes.ollama_model, wishes.hf_model)


def test_the_plans_own_defaults_are_those_of_the_settings() -> None:
    assert Settings().wishes == Wishes()


def test_the_example_environment_names_known_variables_only() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    names = set(re.findall(r"^#? ?([A-Z][A-Z0-9_]+)=", text, re.MULTILINE))
    assert set(ENVIRONMENT.values()) <= names


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
    with pytest.raises(SyntaxError, match="write `from … import`"):
        renamed("import llm\n")


@pytest.mark.slow
def test_the_spaces_own_build_line_resolves() -> None:
    """What a Space runs before it copies the repository; only resolved here, not installed."""
    if not os.environ.get("CI"):
        pytest.skip("asks the package index for a minute; runs where CI is set")
    line = [
        f"gradio[oauth,mcp]=={front_matter()['sdk_version']}",
        "uvicorn>=0.14.0",
        "websockets>=10.4",
        "spaces",
    ]
    outcome = subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
            "-r", "requirements.txt", *line,
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )
    assert outcome.returncode == 0, outcome.stderr[-2000:]
