"""What importing `llm` loads: every command and page does it, most of them ask no model."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "asyncio", "pydantic", "yaml", "jsonschema", "anthropic", "openai", "ollama", "httpx", "httpx2",
    "torch", "transformers", "llguidance", "opentelemetry", "sqlite3",
)


def loaded(code: str) -> set[str]:
    names = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout.split()
    return {name.partition(".")[0] for name in names} & {*HEAVY}


def test_importing_llm_loads_nothing_that_a_plan_does_not_need() -> None:
    assert loaded("import llm") == set()


def test_resolving_a_plan_with_models_loads_no_sdk() -> None:
    code = (
        "import llm; from llm.plan import Wishes; "
        "llm.resolve(Wishes(provider='anthropic'), {'ANTHROPIC_API_KEY': llm.Secret('k' * 9)})"
    )
    assert loaded(code) == set()
